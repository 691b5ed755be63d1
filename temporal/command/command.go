// Package command implements the command line of durable deployments.
//
// It owns flags and what people are reported. It doesn't know how anything is done.
package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/temporal/access"
	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
	"weir.dev/weir/temporal/work"
)

// temporalPort is where a server within a worker is usually; the store has the next one.
const temporalPort = 7233

// A command line.
type line struct {
	name     string
	args     string
	synopsis string
	flags    func(*flag.FlagSet, *settings)
	run      func(context.Context, *settings) error
}

var lines = []line{
	{"worker", "", "Run a worker for durable deployments, until it is interrupted. Without a Temporal server at -temporal or TEMPORAL_ADDRESS it runs one itself, with its database and a store in the data directory.", workerFlags, runWorker},
	{"apply", "", "Have the deployments of the stack in this directory applied, and follow that.", applyFlags, applyStack},
	{"destroy", "", "Have the deployments of the stack in this directory destroyed, and follow that.", applyFlags, destroyStack},
	{"list", "", "List the deployments and where they are.", jsonFlag, list},
	{"follow", "", "Tell what happens to deployments until nothing does, or until they wait for people.", jsonFlag, follow},
	{"approve", "", "Approve the plans that wait.", decisionFlags, decision(rounds.Approve)},
	{"reject", "", "Reject the plans that wait: nothing is done.", decisionFlags, decision(rounds.Reject)},
	{"cancel", "", "Start nothing new, finish running operations and save their results.", decisionFlags, decision(rounds.Cancel)},
	{"recover", "", "Resolve objects in doubt after a kill, so that the deployment continues.", recoverFlags, decision(rounds.Recover)},
}

// settings are those that all commands share, and the flags.
type settings struct {
	on, address, namespace, store, data, stack string
	deployments                                texts
	out, err                                   io.Writer
	in                                         io.Reader
	environ                                    map[string]string

	listen      string
	parallelism int
	port        int
	serveOnly   bool
	input       bool
	lease       time.Duration

	json bool

	roots   choosing
	options rounds.Options
	alone   bool
	detach  bool

	plan   string
	settle rounds.Settlement
}

type texts []string

func (t *texts) String() string     { return strings.Join(*t, ",") }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }

// Run does what the arguments say and returns the exit code.
func Run(args []string) int {
	s := &settings{out: os.Stdout, err: os.Stderr, in: os.Stdin, environ: map[string]string{}}
	for _, pair := range os.Environ() {
		if name, v, ok := strings.Cut(pair, "="); ok {
			s.environ[name] = v
		}
	}
	table, group := rootLines, ""
	if len(args) > 0 && args[0] == "stacks" {
		table, group, args = lines, "stacks ", args[1:]
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	i := slices.IndexFunc(table, func(l line) bool { return l.name == name })
	if i < 0 {
		fmt.Fprintf(s.err, "Usage: weir stacks COMMAND [options]\n\n")
		for _, l := range lines {
			fmt.Fprintf(s.err, "  %-8s  %s\n", l.name, l.synopsis)
		}
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := s.parse(group, table[i], args[1:])
	if err == nil {
		err = table[i].run(ctx, s)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 0
	case !errors.Is(err, errTold):
		fmt.Fprintf(s.err, "\nError: %s\n", strings.TrimPrefix(err.Error(), "Error: ")) // those of weir begin so
	}
	return 1
}

// errTold is the error of what was reported already.
var errTold = errors.New("told")

// parse reads the flags of a command of a group, which has a space at its end.
func (s *settings) parse(group string, l line, args []string) error {
	f := flag.NewFlagSet(l.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&s.address, "temporal", "", "Use the Temporal server at `ADDRESS` (default: its settings, or 127.0.0.1:7233).")
	f.StringVar(&s.namespace, "namespace", "", "Use the Temporal `NAMESPACE`.")
	f.StringVar(&s.store, "store", s.environ["WEIR_STORE"], "Set the store of all workers: a shared directory, or the `URL` of a worker.")
	f.StringVar(&s.data, "data", s.environ["WEIR_DATA"], "Store local data in `DIRECTORY`.")
	if group != "" {
		f.StringVar(&s.stack, "stack", "", "Set the `NAME` of the stack (default: the name of its directory).")
		f.Var(&s.deployments, "deployment", "Work only on the deployment `NAME`; repeatable.")
	}
	f.StringVar(&s.on, "on", "temporal", "Run the steps with temporal, or local in this process (apply and destroy).")
	f.BoolVar(&s.input, "input", true, "Ask for approvals, with -on=local.")
	f.Bool("no-color", false, "Print no colors.")
	if l.flags != nil {
		l.flags(f, s)
	}
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(s.out, "Usage: weir %s%s [options] %s\n\n  %s\n\nOptions:\n", group, l.name, l.args, l.synopsis)
		f.SetOutput(s.out)
		f.PrintDefaults()
		return err
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("%q is one argument too many. Options of \"weir %s%s\" begin with a hyphen; see -help", f.Arg(0), group, l.name)
	}
	if err == nil && s.on != "temporal" && (s.on != "local" || l.name != "apply" && l.name != "destroy") {
		err = fmt.Errorf("-on is %q; it has to be temporal, or local for apply and destroy", s.on)
	}
	if s.data == "" {
		s.data = filepath.Join(cmp.Or(s.environ["XDG_DATA_HOME"], filepath.Join(s.home(), ".local", "share")), "weir")
	}
	return err
}

func (s *settings) home() string {
	home, _ := os.UserHomeDir()
	return home
}

// dial connects to Temporal.
func (s *settings) dial(ctx context.Context) (client.Client, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("the configuration of Temporal's clients can't be read: %w", err)
	}
	o.HostPort = cmp.Or(s.address, o.HostPort, fmt.Sprintf("127.0.0.1:%d", temporalPort))
	o.Namespace = cmp.Or(s.namespace, o.Namespace, client.DefaultNamespace)
	o.Logger = quiet{}
	// Another Temporal has its own means, such as keys and certificates. Without these the
	// server is a worker's, or one that asks nobody and ignores the credential.
	if o.Credentials == nil && o.HeadersProvider == nil && o.ConnectionOptions.TLS == nil {
		token, err := s.token(false)
		if err != nil {
			return nil, err
		}
		if token != "" {
			o.HeadersProvider = access.Headers{Token: token}
		}
	}
	c, err := client.DialContext(ctx, o)
	if denied := (*serviceerror.PermissionDenied)(nil); errors.As(err, &denied) {
		return nil, fmt.Errorf("the Temporal server at %s rejects this user: the token of its store is missing or wrong. Set WEIR_STORE_TOKEN to what the file token in the data directory of its worker has", o.HostPort)
	}
	if err != nil {
		return nil, fmt.Errorf("no Temporal server answers at %s: %w. Start one, and a worker, with:\n    weir stacks worker\nor say where there is one with -temporal=ADDRESS or TEMPORAL_ADDRESS", o.HostPort, err)
	}
	return c, nil
}

// quiet is a logger that says nothing: what matters is returned.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// depot is the store.
func (s *settings) depot() (depot.Depot, error) {
	store := s.store
	if store == "" && s.on == "local" {
		store = filepath.Join(s.data, "store")
	}
	if store == "" {
		store = fmt.Sprintf("http://127.0.0.1:%d", temporalPort+1)
	}
	if !strings.HasPrefix(store, "http://") && !strings.HasPrefix(store, "https://") {
		dir, err := filepath.Abs(store)
		return &depot.Dir{Root: dir}, err
	}
	token, err := s.token(false)
	return &depot.Remote{URL: store, Token: token, HTTP: &http.Client{Timeout: 10 * time.Minute}}, err
}

// token is what a store is asked with: what the environment has, or the file that a
// worker of this machine has made.
func (s *settings) token(make bool) (string, error) {
	if t := s.environ["WEIR_STORE_TOKEN"]; t != "" {
		return t, nil
	}
	file := filepath.Join(s.data, "token")
	data, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !make || !errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil // the answer says that it is missing
		}
		return "", err
	}
	if err := os.MkdirAll(s.data, 0o700); err != nil {
		return "", err
	}
	var own [32]byte
	if _, err := rand.Read(own[:]); err != nil {
		return "", err
	}
	t := hex.EncodeToString(own[:])
	return t, durable.Replace(file, []byte(t+"\n"), 0o600)
}

// worker is one that makes steps in this process.
func (s *settings) worker(d depot.Depot, log io.Writer) (*work.Worker, error) {
	dir, err := work.NewDir(s.data)
	if err != nil {
		return nil, err
	}
	like, err := s.dialect()
	if err != nil {
		return nil, err
	}
	executable, _ := os.Executable()
	environ := maps.Clone(s.environ)
	for _, name := range []string{"TF_DATA_DIR", "TF_WORKSPACE"} {
		delete(environ, name) // a directory of its own has its own
	}
	return &work.Worker{
		Depot: d, Dir: dir, Holder: fmt.Sprintf("%s, process %d", who(), os.Getpid()), Long: cmp.Or(s.lease, 15*time.Second),
		Environ: environ, Home: s.home(), Executable: executable, Dialect: like, Program: "weir", Log: log, Most: s.parallelism,
	}, nil
}

func (s *settings) dialect() (dialect.Dialect, error) {
	if name := s.environ["WEIR_COMPAT"]; name != "" {
		d, err := dialect.Parse(name)
		if err != nil {
			err = fmt.Errorf("WEIR_COMPAT is %q; %w", name, err)
		}
		return d, err
	}
	return dialect.OpenTofu, nil
}

func who() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
