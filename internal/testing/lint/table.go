package lint

// A row says what a package, or each package of a folder, may import of this module,
// and what it may not even reach through others. Names are paths below internal/, or
// cmd/NAME, weir and weirtest; one that ends in a slash is a folder with all that is in
// it. Rows of the folders around a package hold for it too: a row of its own adds to
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
	{"core/", "core/", ""},

	// the machine that the program runs on: processes, files
	{"sys/", "sys/", ""},

	// what every HTTP client of this program shares
	{"net/", "core/lazyregexp sys/buildinfo net/", ""},

	// from text to programs
	{"lang/", "core/ sys/ net/ lang/", ""},
	{"lang/program", "only core/ lang/syntax", ""},
	{"lang/module/fetch", "provider/version", ""}, // what versions a module may have

	// the settings of a user
	{"cliconfig/", "core/ sys/ net/", ""},

	// what a provider or provisioner is, and what is behind its interface
	{"provider/", "core/ sys/ net/ provider/", "lang/ eval/ plan/ apply/ engine/ ui/"},
	{"provider", "only core/", ""},
	{"provider/builtin", "resource/contract state/statefile state/storage", "state/storage/backends"},
	{"provider/install", "cliconfig", "state/"},

	// states, and where they are kept
	{"state/", "core/ sys/ net/ state state/statefile", "lang/program lang/module provider/ eval/ resource/ plan/ apply/ engine/ ui/"},
	{"state/encryption", "lang/syntax", "state state/statefile"},
	{"state/kms", "state/encryption state/storage state/storage/backendconfig state/storage/rest state/storage/azurerm state/storage/gcs state/storage/s3", "state state/statefile"},
	{"state/storage/", "only core/ sys/ net/ state/storage state/storage/backendconfig state/storage/rest", "lang/"},
	{"state/storage/database", "state/statefile", ""},
	{"state/storage/backends", "state/storage/", ""},
	{"state/storage/cos", "state/storage/objectstore", ""},
	{"state/storage/oss", "state/storage/objectstore", ""},

	// from programs to values
	{"eval/", "core/ lang/program eval/", "state/ plan/ apply/"},
	{"eval/deprecated", "lang/module provider", ""},

	// what planning and applying do alike with one object
	{"resource/", "core/ lang/program eval provider state resource/", "state/storage/ plan/ apply/"},
	{"resource/contract", "only core/ provider", ""},
	{"resource/ratelimit", "only core/", ""},
	{"resource/lifecycle", "only core/ provider state resource/contract", ""},

	// from values to steps
	{"plan/", "core/ lang/program eval resource/ provider state plan/", "state/storage/ state/journal provider/plugin/ provider/install apply/ engine/ ui/"},
	{"plan", "only core/ provider state plan/execgraph", ""},
	{"plan/edges", "eval/checks", "plan/planner plan/graphbuilder"},
	{"plan/execgraph", "only core/ lang/program", ""},
	{"plan/moves", "only core/ lang/program", ""},
	{"plan/order", "only", ""}, // integers
	{"plan/planfile", "lang/fsfuncs state/statefile sys/durable", "plan/planner"},
	{"plan/rebase", "only core/ plan state state/statefile", ""},
	{"plan/actions", "provider/provisioner", "plan/planner"},
	{"plan/planner", "eval/checks incremental/freshness", "plan/planfile state/statefile"},

	// what an edit affects, and what needn't be done again
	{"incremental/", "core/", ""},
	{"incremental/sourceblocks", "lang/", ""},
	{"incremental/freshness", "lang/program eval resource/ provider state plan/", "state/storage/ state/journal apply/ engine/ ui/"},
	{"incremental/impact", "lang/ eval resource/ provider state plan/ incremental/freshness incremental/sourceblocks", "plan/planner apply/ engine/"},
	{"incremental/planinputs", "sys/ net/ lang/ provider/ state/ workspace/ engine plan incremental/", "ui/"},

	// from steps to states
	{"apply/", "core/ lang/program eval eval/checks resource/ provider provider/provisioner state plan plan/event plan/execgraph",
		"plan/planner plan/moves plan/order plan/planfile state/statefile state/storage/ provider/plugin/ provider/install ui/"},

	// the stages one after the other
	{"engine/", "core/ lang/ eval/ resource/ provider provider/provisioner state plan/ apply engine/", "state/storage/ provider/plugin/ ui/"},
	{"engine/validate", "only core/ lang/program lang/syntax eval/ resource/ provider provider/provisioner", "plan/ apply/"},

	// tests of modules
	{"moduletest/", "core/ lang/ provider provider/providerpool moduletest/", "state/storage/ workspace/ ui/"},
	{"moduletest", "eval state plan plan/execgraph apply engine", ""},
	{"moduletest/coverage", "eval", "state/ plan/ provider/"},
	{"moduletest/mutate", "only core/ lang/program", ""},
	{"moduletest/quickcheck", "only core/ lang/program", ""},
	{"moduletest/testresult", "state plan", "apply/ engine/"},

	// a further language, and where the states of its deployments are
	{"stack/", "core/ lang/ stack/", "provider/plugin/ plan/ apply/ engine/ ui/"},
	{"stack/deploy", "", "state/ eval/"},
	{"stack/shardedstate", "sys/durable sys/readlimit state state/statefile state/storage state/storage/local", "eval/"},
	{"stack/remoteoutputs", "sys/durable sys/readlimit state/storage", "eval/"},
	{"stack/removal", "state", "eval/"},

	// a state at work: one command on it, without a terminal
	{"workspace/", "core/ sys/ net/ lang/ cliconfig incremental/parsecache provider/ state/ workspace/", ""},
	{"workspace", "*", "ui/cli ui/login ui/view"},
	{"workspace/transfer", "only core/ state state/edit state/journal sys/failpoint workspace/lockedstate", ""},
	{"workspace/orphans", "apply plan moduletest/testresult", "engine/"},
	{"workspace/planoptions", "only core/ plan sys/readlimit", ""},
	{"workspace/lockedstate", "plan plan/execgraph", "plan/planner apply/"},
	{"workspace/backendinit", "eval/", ""},
	{"workspace/statemgr", "stack/shardedstate stack/remoteoutputs", ""},
	{"workspace/approvalpolicy", "only core/ plan stack/deploy", ""},
	{"workspace/environment", "resource/ratelimit", ""},
	{"workspace/externalinputs", "stack/deploy stack/remoteoutputs", ""},

	// many root modules in one run
	{"roots/", "core/ sys/durable sys/readlimit lang/ eval provider/builtin provider/lockfile plan plan/planfile stack stack/deploy state state/storage state/storage/backends engine workspace workspace/environment workspace/statebackend", "ui/"},

	// what people see and type
	{"ui/", "core/ plan plan/event ui/", ""},
	{"ui/cli", "*", ""}, // beside, it prints pages of docs
	{"ui/flags", "cliconfig lang/lint workspace/environment workspace/planoptions workspace/lockedstate workspace/statemgr state/storage", ""},
	{"ui/completion", "sys/durable sys/readlimit", ""},
	{"ui/output", "eval/deprecated plan/why", ""},
	{"ui/snapshot", "moduletest/testfile", "engine/"},
	{"ui/webui", "plan/execgraph", "ui/view/page"},
	{"ui/webrun", "lang/program plan/edges workspace/statehistory state/edit state/journal moduletest/filewatch", ""},
	{"ui/daemon", "only core/diag", ""},
	{"ui/daemonserver", "engine incremental/parsecache workspace/providersource sys/proc", "ui/cli"},
	{"ui/login", "net/sameorigin", ""},
	{"ui/lsp", "cliconfig lang/ engine provider state workspace/environment", "ui/cli"},
	{"ui/lsp/assist", "lang/ provider", "ui/cli"},
	{"ui/lsp/project", "cliconfig lang/ provider provider/lockfile provider/version engine state sys/readlimit workspace workspace/environment workspace/lockedstate workspace/providersource", "ui/cli"},
	{"ui/lsp/protocol", "only", ""},
	{"ui/lsp/textdoc", "only ui/lsp/protocol", ""},
	{"ui/telemetry", "only core/trace net/useragent net/sameorigin", ""},
	{"ui/timings", "only core/trace core/metrics ui/view/ansi ui/view/sanitize", ""},
	{"ui/view/", "lang/ provider provider/version state plan/edges plan/execgraph plan/why", "plan/planner apply/ engine/ state/storage/ state/journal"},
	{"ui/view/coveragereport", "moduletest/coverage", ""},
	{"ui/view/packages", "provider/install", ""},
	{"ui/view/testreport", "moduletest/mutate moduletest/testresult", ""},

	{"cmd/weir", "ui/cli ui/daemon ui/telemetry ui/terminal provider/providerproxy sys/buildinfo core/metrics lang/fsfuncs lang/program core/value", ""},
	{"cmd/reference", "*", ""},
	{"weir", "*", "ui/cli ui/login ui/view"}, // for other programs
	{"weirtest", "weir", ""},

	// for tests
	{"testing/", "*", ""},
}

// onlyTests are the packages that no other package may import, "*" or not,
// except from test files and from one another.
const onlyTests = "testing/ provider/fake provider/plugin/batchv1 state/storage/testservers state/storage/storagetest"

// A guard keeps a package or function of the outside world to the few places
// that have a use for it.
type guard struct {
	what string // import path, or import path.Name
	in   string // who may; "" is nobody
	cure string // what to do instead
}

var guards = []guard{
	{"net/http", "net/httpcall net/retry ui/cli ui/webui ui/login ui/telemetry lang/module/fetch workspace/externalinputs provider/install provider/provisioner/remote state/kms state/storage/ net/useragent net/sameorigin net/ociregistry net/stalltimeout", "take a Fetcher or another narrow interface as an argument"},
	{"os/exec", "ui/cli ui/terminal lang/module/fetch workspace cliconfig workspace/externalinputs workspace/backendinit provider/providerproxy provider/plugin provider/provisioner state/storage/ sys/proc ui/externalcmd", "let the caller hand over what the process would tell"},
	{"os/signal", "ui/terminal cmd/weir", "take a context as an argument"},
	{"flag", "cmd/reference cmd/weir ui/cli ui/commands ui/flags ui/daemonserver ui/terminal testing/scripttest", "take options as a struct"},
	{"testing", "testing/scripttest testing/testkit state/storage/storagetest", "move it to a _test.go file or to testkit"},
	{"google.golang.org/grpc", "ui/telemetry provider/providerproxy provider/plugin provider/plugin/batchv1 provider/plugin/handshake provider/plugin/batching provider/plugin/tfplugin5 provider/plugin/tfplugin6", "use the provider.Instance interface"},
	{"github.com/aws/aws-sdk-go-v2", "state/storage/s3", "use the storage.Backend interface"},
	{"github.com/Azure/azure-sdk-for-go", "state/storage/azurerm", "use the storage.Backend interface"},
	{"github.com/aliyun/alibabacloud-oss-go-sdk-v2", "state/storage/oss", "use the storage.Backend interface"},
	{"golang.org/x/oauth2", "state/storage/gcs", "use the storage.Backend interface"},
	{"github.com/jackc/pgx/v5", "state/storage/database state/storage/pg state/storage/testservers", "use the storage.Backend interface"},
	{"github.com/ncruces/go-sqlite3", "state/storage/database", "use the storage.Backend interface"},
	{"golang.org/x/crypto/ssh", "lang/function provider/provisioner/remote", "let provisioner/remote connect"},
	{"github.com/hashicorp/go-plugin", "", "use provider/plugin/handshake: it is for tests, which serve plugins by it"},
	{"html/template", "", "write markup as ui/view/page does: see TestLinked"},
	{"text/template", "", "write text with package fmt: see TestLinked"},
	{"os", "cmd/reference cmd/weir engine ui/cli ui/daemon ui/daemonserver ui/output ui/snapshot ui/telemetry ui/terminal lang/fsfuncs lang/format lang/function lang/module lang/module/fetch net/netrc workspace cliconfig workspace/orphans workspace/externalinputs workspace/environment workspace/planoptions workspace/lockedstate workspace/remoterun ui/completion workspace/providersource workspace/workdir ui/lsp/project plan/planfile testing/lint testing/scripttest testing/testkit testing/txtar provider/ stack/shardedstate stack/remoteoutputs state/journal state/kms state/statefile state/storage/ moduletest/filewatch sys/proc sys/durable weir ui/externalcmd sys/readlimit",
		"take bytes, a reader or an fs.FS as an argument"},
	{"os.Rename", "lang/module/fetch provider/install provider/schemacache state/journal state/storage/local sys/durable", "use durable.Replace or durable.Rename: a name is on the disk only with its folder"},
	{"os.Exit", "cmd/reference cmd/weir", "return an exit code or an error"},
	{"os.Getenv", "ui/cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.LookupEnv", "ui/cli cmd/weir", "take the value as an argument: the environment is an input"},
	{"os.Getwd", "ui/cli cmd/weir", "take the directory as an argument"},
	{"os.Chdir", "cmd/weir ui/daemon", "pass directories along; the process has only one, and -chdir is served before anything else happens"},
	{"os.Stdout", "ui/cli ui/externalcmd cmd/weir", "take an io.Writer as an argument"},
	{"os.Stderr", "cmd/reference ui/cli ui/externalcmd cmd/weir", "take an io.Writer as an argument"},
	{"fmt.Print", "", "take an io.Writer as an argument and use fmt.Fprint"},
	{"fmt.Printf", "", "take an io.Writer as an argument and use fmt.Fprintf"},
	{"fmt.Println", "", "take an io.Writer as an argument and use fmt.Fprintln"},
	{"log.Fatal", "", "return an error"},
	{"log.Fatalf", "", "return an error"},
}

// badNames say nothing about what a package owns.
const badNames = "base common glue helper helpers lib manager misc shared tools types util utils"

// wrappers are the types that only wrap a pointer to another type of their package, and
// are there for a reason.
var wrappers = map[string]bool{
	"workspace/lockedstate.Claimed": true, // a session whose lock is held: what changes states is on only it, and the compiler sees to that
	"plan/why.Explainer":            true, // keeps what explaining works with out of what others see
}

// answering are the functions that have a task and return diagnostics all the same.
var answering = map[string]bool{
	// They return the answer of a provider to the caller, which knows the place of the object.
	"resource/providerclient.AskOf": true,
	"resource/batch.Do":             true,
	"apply.effect":                  true,
	"apply.callApply":               true,

	// The loader evaluates sources again and again, and keeps the problems of the last time.
	"eval/static.Text":     true,
	"eval/static.Constant": true,
}
