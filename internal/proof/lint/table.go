package lint

// A row says what a package, or each package of a folder, may import of this module,
// and what it may not even reach through others. Names are paths below internal/, or
// cmd/NAME, weir and weirtest; one that ends in a slash is a folder with all that is in
// it. What the folders around a package say holds for it too: a row of its own adds to
// that, or replaces what it may import if it begins with "only". "*" stands for
// everything.
type row struct {
	pkg   string
	may   string // what it may import directly
	never string // what it must not reach, however long the chain
}

const only = "only"

// The folders stand in the order of the stages, and in each row what comes earlier may
// be imported. A package without a row of its own follows its folder's.
var table = []row{
	// what all stages speak in, and knows of none
	{"word/", "word/", ""},

	// the machine and the network around the program
	{"system/", "system/", ""},

	// from text to programs
	{"lang/", "word/ system/ lang/", ""},
	{"lang/program", "only word/ lang/syntax", ""},
	{"lang/module/fetch", "provider/version", ""}, // what versions a module may have

	// what a provider or provisioner is, and what is behind its interface
	{"provider/", "word/ system/ provider/", "lang/ eval/ plan/ apply/ engine/ front/"},
	{"provider", "only word/", ""},
	{"provider/builtin", "object/conform state/statefile state/storage", "state/storage/backends"},
	{"provider/install", "operation/cliconfig", "state/"},

	// states, and where they are kept
	{"state/", "word/ system/ state state/statefile", "lang/program lang/module provider/ eval/ object/ plan/ apply/ engine/ front/"},
	{"state/encryption", "lang/syntax", "state state/statefile"},
	{"state/keyservice", "state/encryption state/storage state/storage/arguments state/storage/rest state/storage/azurerm state/storage/gcs state/storage/s3", "state state/statefile"},
	{"state/storage/", "only word/ system/ state/storage state/storage/arguments state/storage/rest", "state state/statefile lang/"},
	{"state/storage/backends", "state/storage/", ""},
	{"state/storage/cos", "state/storage/bucket", ""},
	{"state/storage/oss", "state/storage/bucket", ""},

	// from programs to values
	{"eval/", "word/ lang/program eval/", "state/ plan/ apply/"},
	{"eval/deprecated", "lang/module provider", ""},

	// what planning and applying do alike with one object
	{"object/", "word/ lang/program eval provider state object/", "state/storage/ plan/ apply/"},
	{"object/conform", "only word/ provider", ""},
	{"object/pace", "only word/", ""},
	{"object/lifecycle", "only word/ provider state object/conform", ""},

	// from values to steps
	{"plan/", "word/ lang/program eval object/ provider state plan/", "state/storage/ state/journal provider/plugin/ provider/install apply/ engine/ front/"},
	{"plan", "only word/ provider state plan/execgraph", ""},
	{"plan/affected", "lang/module lang/pieces lang/syntax", "plan/planner"},
	{"plan/execgraph", "only word/ lang/program", ""},
	{"plan/moves", "only word/ lang/program", ""},
	{"plan/order", "only", ""}, // integers
	{"plan/planfile", "lang/files state/statefile system/durable", "plan/planner"},
	{"plan/around", "provider/provisioner", "plan/planner"},
	{"plan/planner", "eval/observe", "plan/planfile state/statefile"},

	// from steps to states
	{"apply/", "word/ lang/program eval eval/observe object/ provider provider/provisioner state plan plan/event plan/execgraph",
		"plan/planner plan/moves plan/order plan/planfile state/statefile state/storage/ provider/plugin/ provider/install front/"},

	// the stages one after the other
	{"engine/", "word/ lang/ eval/ object/ provider provider/provisioner state plan/ apply engine/", "state/storage/ provider/plugin/ front/"},
	{"engine/validate", "only word/ lang/program lang/syntax eval/ object/ provider provider/provisioner", "plan/ apply/"},

	// tests of modules
	{"suite/", "word/ lang/ provider provider/lend suite/", "state/storage/ operation/ front/"},
	{"suite", "eval state plan apply engine", ""},
	{"suite/coverage", "eval", "state/ plan/ provider/"},
	{"suite/mutate", "only word/ lang/program", ""},
	{"suite/property", "only word/ lang/program", ""},
	{"suite/testresult", "state plan", "apply/ engine/"},

	// a further language, and where the states of its deployments are
	{"stack/", "word/ lang/ stack/", "provider/plugin/ plan/ apply/ engine/ front/"},
	{"stack/deploy", "", "state/ eval/"},
	{"stack/parts", "system/durable system/input state state/statefile state/storage state/storage/local", "eval/"},
	{"stack/published", "system/durable system/input state/storage", "eval/"},
	{"stack/removal", "state", "eval/"},

	// a state at work: one command on it, without a terminal
	{"operation/", "word/ system/ lang/ provider/ state/ operation/", ""},
	{"operation", "*", "front/cli front/login front/view"},
	{"operation/cliconfig", "only word/ system/", ""},
	{"operation/leftover", "apply plan suite/testresult", "engine/"},
	{"operation/narrow", "engine plan plan/affected plan/looks", ""},
	{"operation/refresh", "plan plan/looks", "plan/planner"},
	{"operation/request", "only word/ plan system/input", ""},
	{"operation/session", "plan plan/execgraph", "plan/planner apply/"},
	{"operation/settings", "eval/", ""},
	{"operation/states", "stack/parts stack/published", ""},
	{"operation/approval", "only word/ plan stack/deploy", ""},
	{"operation/place", "object/pace", ""},
	{"operation/outside", "stack/deploy stack/published", ""},

	// what people see and type
	{"front/", "word/ plan plan/event front/", ""},
	{"front/cli", "*", ""}, // beside, it prints pages of docs
	{"front/flags", "operation/cliconfig operation/place operation/request operation/session operation/states state/storage", ""},
	{"front/screen", "eval/deprecated plan/why", ""},
	{"front/approval", "plan/why", ""},
	{"front/snapshot", "suite/testfile", "engine/"},
	{"front/live", "plan/execgraph", "front/view/page"},
	{"front/follow", "lang/program operation/past state/journal suite/watch", ""},
	{"front/daemon", "only word/diag", ""},
	{"front/resident", "engine operation/supply system/child", "front/cli"},
	{"front/telemetry", "only word/trace system/agent system/origin", ""},
	{"front/timings", "only word/trace word/work front/view/style front/view/clean", ""},
	{"front/view/", "lang/ provider provider/version state plan/execgraph plan/why", "plan/planner apply/ engine/ state/storage/ state/journal"},
	{"front/view/coverview", "suite/coverage", ""},
	{"front/view/packages", "provider/install", ""},
	{"front/view/testview", "suite/mutate suite/testresult", ""},

	{"cmd/weir", "front/cli front/daemon front/telemetry front/terminal provider/guard system/release word/work lang/files lang/program word/value", ""},
	{"weir", "*", "front/cli front/login front/view"}, // for other programs
	{"weirtest", "weir", ""},

	// for tests
	{"proof/", "*", ""},
}

// onlyTests are the packages that no other package may import, "*" or not,
// except from test files and from one another.
const onlyTests = "proof/ provider/fake provider/plugin/batchv1 state/storage/servers state/storage/storagetest"

// A guard keeps a package or function of the outside world to the few places
// that have a use for it.
type guard struct {
	what string // import path, or import path.Name
	in   string // who may; "" is nobody
	cure string // what to do instead
}

var guards = []guard{
	{"net/http", "front/cli front/live front/login front/telemetry lang/module/fetch operation/outside provider/install provider/provisioner/remote state/keyservice state/storage/ system/agent system/origin system/container system/patience", "take a Fetcher or another narrow interface as an argument"},
	{"os/exec", "front/cli front/terminal lang/module/fetch operation operation/cliconfig operation/outside operation/settings provider/guard provider/plugin provider/provisioner state/storage/ system/child front/companion", "let the caller hand over what the process would tell"},
	{"os/signal", "front/terminal cmd/weir", "take a context as an argument"},
	{"flag", "cmd/weir front/cli front/commands front/flags front/resident front/terminal proof/story", "take options as a struct"},
	{"testing", "proof/story proof/testkit state/storage/storagetest", "move it to a _test.go file or to testkit"},
	{"google.golang.org/grpc", "front/telemetry provider/guard provider/plugin provider/plugin/batchv1 provider/plugin/handshake provider/plugin/many provider/plugin/tfplugin5 provider/plugin/tfplugin6", "use the provider.Instance interface"},
	{"github.com/aws/aws-sdk-go-v2", "state/storage/s3", "use the storage.Backend interface"},
	{"github.com/Azure/azure-sdk-for-go", "state/storage/azurerm", "use the storage.Backend interface"},
	{"github.com/aliyun/alibabacloud-oss-go-sdk-v2", "state/storage/oss", "use the storage.Backend interface"},
	{"golang.org/x/oauth2", "state/storage/gcs", "use the storage.Backend interface"},
	{"github.com/jackc/pgx/v5", "state/storage/pg state/storage/servers", "use the storage.Backend interface"},
	{"golang.org/x/crypto/ssh", "lang/function provider/provisioner/remote", "let provisioner/remote connect"},
	{"github.com/hashicorp/go-plugin", "", "use provider/plugin/handshake: it is for tests, which serve plugins by it"},
	{"html/template", "", "write markup as front/view/page does: see TestLinked"},
	{"text/template", "", "write text with package fmt: see TestLinked"},
	{"os", "cmd/weir engine front/cli front/daemon front/resident front/screen front/snapshot front/telemetry front/terminal lang/files lang/format lang/function lang/module lang/module/fetch operation operation/cliconfig operation/leftover operation/outside operation/place operation/request operation/session operation/shellrc operation/supply operation/workdir plan/planfile proof/lint proof/story proof/testkit proof/txtar provider/ stack/parts stack/published state/journal state/keyservice state/statefile state/storage/ suite/watch system/child system/durable weir front/companion system/input",
		"take bytes, a reader or an fs.FS as an argument"},
	{"os.Rename", "lang/module/fetch provider/install provider/schemacache state/journal state/storage/local system/durable", "use durable.Replace or durable.Rename: a name is on the disk only with its folder"},
	{"os.Exit", "cmd/weir", "return an exit code or an error"},
	{"os.Getenv", "front/cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.LookupEnv", "front/cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.Getwd", "front/cli cmd/weir", "take the directory as an argument"},
	{"os.Chdir", "cmd/weir front/daemon", "pass directories along; the process has only one, and -chdir is served before anything else happens"},
	{"os.Stdout", "front/cli front/companion cmd/weir", "take an io.Writer as an argument"},
	{"os.Stderr", "front/cli front/companion cmd/weir", "take an io.Writer as an argument"},
	{"fmt.Print", "", "take an io.Writer as an argument and use fmt.Fprint"},
	{"fmt.Printf", "", "take an io.Writer as an argument and use fmt.Fprintf"},
	{"fmt.Println", "", "take an io.Writer as an argument and use fmt.Fprintln"},
	{"log.Fatal", "", "return an error"},
	{"log.Fatalf", "", "return an error"},
}

// badNames say nothing about what a package owns.
const badNames = "base common core glue helper helpers lib manager misc shared tools types util utils"

// wrappers are the types that only wrap a pointer to another type of their package, and
// are there for a reason or are yet to go.
var wrappers = map[string]bool{
	"operation/session.Claimed": true, // a session whose lock is held: what changes states is on it alone, and the compiler sees to that
	"plan/why.Explainer":        true, // keeps what explaining works with out of what others see

	// These share all fields of the run.
	"apply.host":             true,
	"apply.invoking":         true,
	"apply.provisioning":     true,
	"plan/planner.destroyer": true,
	"plan/planner.finishing": true,
	"plan/planner.importing": true,
	"plan/planner.sweeper":   true,
}
