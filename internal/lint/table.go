package lint

// groups name sets of packages, so that the rows below stay short.
var groups = map[string]string{
	"words": "addr diag dialect promise schema value work",
}

// A row says what one package may import of this module, and what it may not
// even reach through others. Words in it are package paths below internal/, or
// groups. "*" stands for everything.
//
// Packages that don't exist yet may have a row; packages without one are refused.
type row struct {
	pkg   string // path below internal/, or cmd/NAME
	may   string // what it may import directly
	never string // what it must not reach, however long the chain
}

var table = []row{
	// words, which know nothing of stages
	{"diag", "", ""},
	{"addr", "diag", ""},
	{"dialect", "addr", ""},
	{"value", "diag addr", ""},
	{"schema", "diag addr value", ""},
	{"promise", "diag addr work", ""},
	{"work", "", ""},

	// nouns between the stages
	{"provider", "words", "program eval planner apply"},
	{"state", "words provider", "program eval planner apply"},
	{"program", "words syntax", "module provider state plan"},
	{"outline", "words program", "module provider state plan"},
	{"execgraph", "words program", "eval planner apply provider state"},
	{"plan", "words provider state execgraph", "eval planner apply"},
	{"event", "words plan", "eval planner apply view"},

	// rules beside the line
	{"format", "diag durable syntax", ""},
	{"files", "", ""},
	{"function", "words files", "program eval provider state plan"},
	{"conform", "words provider", "program eval state plan"},
	{"moves", "words program", "eval planner state"},
	{"origin", "", ""},
	{"agent", "release", ""},
	{"patience", "", ""},
	{"order", "", ""}, // integers only
	{"generate", "words", "program provider state"},

	// the line, from files to states
	{"syntax", "words", ""},
	{"module", "words durable syntax", "provider eval state"},
	{"module/fetch", "module origin provider/version", "provider eval program state"},
	{"analyze", "words syntax module program function analyze/address analyze/calls", "provider eval state plan"},
	{"analyze/address", "words", "provider eval state plan"},
	{"analyze/calls", "words syntax program", "provider eval state plan"},
	{"eval", "words program function", "state plan planner provider apply execgraph module"},
	{"static", "words program eval", "state plan planner provider apply"},
	{"deprecated", "words program eval provider module", "state plan planner apply"},
	{"validate", "words syntax program eval provider connect deprecated instance provisioner", "plan planner apply execgraph provider/plugin"},
	{"planner", "words program eval provider conform state checks connect instance lifecycle moves order generate execgraph plan planner/arrange planner/prior planner/references planner/relevant planner/scope event provisioner",
		"apply provider/plugin provider/install journal storage statefile planfile view cli"},
	{"planner/arrange", "words program eval state order execgraph plan", "apply connect lifecycle storage view cli"},
	{"planner/prior", "words program eval moves state", "plan provider/plugin apply connect storage view cli"},
	{"planner/references", "words program order", "state plan apply view cli"},
	{"planner/relevant", "words program eval plan", "apply storage view cli"},
	{"planner/scope", "words program state planner/arrange planner/references", "apply connect storage view cli"},
	{"apply", "words program eval provider conform state checks connect instance lifecycle execgraph plan event provisioner",
		"planner moves order provider/plugin provider/install storage statefile planfile view cli"},

	// what both phases do with one object
	{"checks", "eval state", "plan planner apply"},
	{"connect", "words program eval provider conform", "state plan planner apply"},
	{"lifecycle", "words provider conform state", "program eval plan planner apply"},
	{"instance", "words program eval provider conform connect lifecycle checks state", "plan planner apply"},

	// what tells about a plan
	{"why", "words program eval state execgraph plan", "planner apply view cli"},

	// the side door: what a provider or provisioner is behind its interface
	{"child", "", ""},
	{"provider/guard", "child durable", ""},
	{"provider/plugin", "words child provider provider/guard provider/plugin/tfplugin5 provider/plugin/tfplugin6", "program eval plan planner apply state"},
	{"provider/plugin/tfplugin5", "", ""}, // generated
	{"provider/plugin/tfplugin6", "", ""}, // generated
	{"provider/builtin", "words provider conform storage state statefile", "program eval plan planner apply storage/backends"},
	{"provider/install", "words origin provider provider/lockfile provider/version cliconfig", "program eval plan planner apply state"},
	{"provider/lockfile", "words durable provider/version", "provider program eval state"},
	{"provider/version", "", ""},
	{"provider/schemacache", "", ""},
	{"provider/fake", "words provider", "program eval plan planner apply"},
	{"provisioner", "words child provisioner/remote", "program eval plan planner apply state"},
	{"provisioner/remote", "words", "program eval plan planner apply state"},

	// formats and bytes
	{"statefile", "words provider state", "program eval planner apply"},
	{"planfile", "words durable files program provider state execgraph plan statefile", "planner apply view cli"},
	{"encryption", "diag syntax", "program eval provider state plan statefile planfile storage"},
	{"failpoint", "", ""},
	{"durable", "", ""},
	{"edit", "words state statefile", "program eval planner apply storage cli"},
	{"journal", "words durable failpoint state statefile", "planner apply view cli"},
	{"storage", "words", "state plan planner apply view cli"},
	{"storage/arguments", "words patience storage", "state plan planner apply view cli"},
	{"storage/azurerm", "words agent patience storage storage/arguments", "state plan planner apply view cli"},
	{"storage/backends", "words storage storage/azurerm storage/consul storage/gcs storage/http storage/inmem storage/kubernetes storage/local storage/pg storage/s3", "state plan planner apply view cli"},
	{"storage/consul", "words agent storage storage/arguments storage/rest", "state plan planner apply view cli"},
	{"storage/gcs", "words agent patience storage storage/arguments", "state plan planner apply view cli"},
	{"storage/http", "words agent origin patience storage storage/arguments", "state plan planner apply view cli"},
	{"storage/inmem", "words storage", "state plan planner apply view cli"},
	{"storage/local", "words durable failpoint storage", "state plan planner apply view cli"},
	{"storage/kubernetes", "words agent storage storage/arguments storage/rest", "state plan planner apply view cli"},
	{"storage/servers", "storage", ""}, // for tests
	{"storage/pg", "words patience storage storage/arguments", "state plan planner apply view cli"},
	{"storage/rest", "words patience", "state plan planner apply view cli"},
	{"storage/s3", "words agent patience storage storage/arguments", "state plan planner apply view cli"},
	{"storage/storagetest", "words patience storage", "state plan planner apply view cli"},
	{"workdir", "words durable", "state plan planner apply view cli"},

	// where a directory's states are, and work on one of them
	{"backend", "words program storage storage/local workdir", "eval state plan planner apply view cli"},
	{"session", "words apply backend durable encryption execgraph journal plan state statefile storage storage/local", "planner view cli"},

	// where it is wired and shown
	// stacks: another front end, and where their states are
	{"stack", "words syntax module analyze analyze/calls program", "eval provider state plan"},
	{"stack/deploy", "words syntax module analyze program eval static function", "state plan provider apply"},
	{"stack/parts", "addr durable state statefile storage storage/local", "program eval plan"},
	{"stack/removal", "words program state stack/parts", "eval plan planner apply"},

	{"engine", "*", "view cli"},
	{"operation", "*", "view login cli"},
	{"operation/place", "words backend cliconfig files module provider provider/lockfile provider/plugin workdir", "state plan planner apply engine view cli"},
	{"operation/settings", "words analyze backend encryption eval function module operation/place program static storage/backends syntax", "state plan planner apply engine view cli"},
	{"operation/states", "words backend encryption operation/place operation/settings session stack/parts state statefile storage storage/local", "planner engine view cli"},
	{"operation/supply", "words agent cliconfig operation/settings program provider provider/builtin provider/install provider/lockfile provider/plugin provider/schemacache state storage storage/backends", "planner apply engine view cli"},

	// tests of modules
	{"testfile", "words syntax module", "program eval provider state plan"},
	{"mock", "words provider", "program eval state plan"},
	{"testresult", "words program provider state plan testfile", "eval planner apply engine"},
	{"suite", "words syntax analyze apply eval files function module program provider mock state plan testfile testresult engine mutate property", "storage session view cli"},
	{"coverage", "words syntax program eval", "state plan provider suite cli"},
	{"view/coverview", "coverage view/style", "state plan provider suite"},
	{"mutate", "words program", "eval state plan provider suite cli"},
	{"property", "words program", "state plan provider suite cli"},
	{"watch", "files", ""},
	{"snapshot", "words plan testfile view view/diff", "planner apply engine suite cli"},
	{"leftover", "words apply durable journal module plan provider provider/guard session state statefile storage/local testresult", "suite view cli"},
	{"view/testview", "words state testresult mutate view view/style view/stream view/jsonplan view/jsonstate", "planner apply engine storage"},

	{"view/packages", "provider/install", "program eval plan"},
	{"view/tree", "words program", "state plan provider"},
	{"view", "words program provider state execgraph plan why event format statefile view/brief view/style view/clean view/diff view/stream view/jsonplan view/jsonstate",
		"planner apply engine storage journal cli"},
	{"view/brief", "words plan view/clean view/jsonplan view/jsonstate", "eval planner apply"},
	{"view/review", "words plan view view/brief view/clean view/stream", "planner apply"},
	{"view/style", "", ""},
	{"view/clean", "view/style", ""},
	{"view/diags", "diag value view/style view/clean", "program provider state plan"},
	{"view/diff", "words plan view/style view/clean", "eval planner apply"},
	{"view/analysis", "words outline", "provider state plan"},
	{"view/dot", "words program execgraph outline", "provider state plan"},
	{"view/jsonconfig", "words program provider provider/version", "state plan"},
	{"view/jsonschema", "words provider", "state plan"},
	{"view/jsonstate", "words provider state", "plan statefile"},
	{"view/jsonplan", "words program provider state plan view/jsonconfig view/jsonstate", "eval planner apply"},
	{"view/jsonwhy", "words plan why", "planner apply"},
	{"view/stream", "words state plan event view/style view/clean view/diags view/jsonplan view/jsonstate", "eval planner apply"},
	{"terminal", "view/style", ""},
	{"screen", "words deprecated event plan terminal view view/diags view/stream view/style", "planner apply engine storage cli"},
	{"commands", "diag screen terminal", "planner apply engine storage cli"},
	{"request", "words plan", "eval planner apply"},
	{"cli", "*", ""}, // beside, it prints pages of docs
	{"cliconfig", "diag addr dialect durable", ""},
	{"login", "", ""},
	{"release", "", ""},
	{"cmd/weir", "cli provider/guard work", ""},
	{"weir", "*", "cli login view"}, // for other programs
	{"weirtest", "weir", ""},

	// for tests; nothing but tests imports these
	{"testkit", "*", "cli"},
	{"simtest", "*", "cli"},
	{"txtar", "", ""}, // what cases are kept in
	{"crash", "", ""}, // tests alone
	{"lint", "", ""},
}

// onlyTests are the packages that no other package may import, "*" or not,
// except from test files and from one another.
const onlyTests = "simtest provider/fake storage/servers storage/storagetest testkit txtar lint"

// A guard keeps a package or function of the outside world to the few places
// that have a use for it.
type guard struct {
	what string // import path, or import path.Name
	in   string // who may; "" is nobody
	cure string // what to do instead
}

var guards = []guard{
	{"net/http", "origin agent provider/install module/fetch login storage storage/gcs storage/http storage/s3 storage/servers cli storage/azurerm storage/consul storage/rest storage/kubernetes provisioner/remote", "take a Fetcher or another narrow interface as an argument"},
	{"os/exec", "child terminal provider/plugin cliconfig provisioner module/fetch storage storage/servers operation operation/settings cli storage/azurerm storage/kubernetes provider/guard", "let the caller hand over what the process would tell"},
	{"os/signal", "terminal cmd/weir", "take a context as an argument"},
	{"flag", "cli commands terminal cmd/weir", "take options as a struct"},
	{"testing", "testkit storage/storagetest", "move it to a _test.go file or to testkit"},
	{"google.golang.org/grpc", "provider/guard provider/plugin provider/plugin/tfplugin5 provider/plugin/tfplugin6", "use the provider.Instance interface"},
	{"github.com/aws/aws-sdk-go-v2", "storage/s3", "use the storage.Backend interface"},
	{"github.com/Azure/azure-sdk-for-go", "storage/azurerm", "use the storage.Backend interface"},
	{"golang.org/x/oauth2", "storage/gcs", "use the storage.Backend interface"},
	{"github.com/jackc/pgx/v5", "storage/pg storage/servers", "use the storage.Backend interface"},
	{"golang.org/x/crypto/ssh", "function provisioner/remote", "let provisioner/remote connect"},
	{"github.com/hashicorp/go-plugin", "provider/plugin", "use the provider.Instance interface"},
	{"os", "child durable files module request screen module/fetch function provider/plugin provider/install provider/lockfile provider/schemacache cliconfig provisioner statefile planfile journal leftover session snapshot storage storage/gcs storage/local storage/s3 storage/servers stack/parts watch workdir format engine operation operation/place operation/supply terminal cli cmd/weir weir testkit txtar lint storage/azurerm storage/consul storage/kubernetes provider/guard provisioner/remote",
		"take bytes, a reader or an fs.FS as an argument"},
	{"os.Rename", "durable journal storage/local module/fetch provider/install provider/schemacache", "use durable.Replace or durable.Rename: a name is on the disk only with its folder"},
	{"os.Exit", "cmd/weir", "return an exit code or an error"},
	{"os.Getenv", "cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.LookupEnv", "cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.Getwd", "cli cmd/weir", "take the directory as an argument"},
	{"os.Chdir", "cmd/weir", "pass directories along; the process has only one, and -chdir is served before anything else happens"},
	{"os.Stdout", "cli cmd/weir", "take an io.Writer as an argument"},
	{"os.Stderr", "cli cmd/weir", "take an io.Writer as an argument"},
	{"fmt.Print", "", "take an io.Writer as an argument and use fmt.Fprint"},
	{"fmt.Printf", "", "take an io.Writer as an argument and use fmt.Fprintf"},
	{"fmt.Println", "", "take an io.Writer as an argument and use fmt.Fprintln"},
	{"log.Fatal", "", "return an error"},
	{"log.Fatalf", "", "return an error"},
}

// badNames say nothing about what a package owns.
const badNames = "base common core glue helper helpers lib manager misc shared tools types util utils"

const (
	maxFileLines   = 800 // of a file that isn't generated
	maxImportChain = 12  // packages of this module, from a command down
)
