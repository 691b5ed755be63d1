// Package daemon connects a command to a running daemon of the same user and build. The daemon
// runs the command with its streams, directory, environment and interrupts, and reuses earlier
// work.
//
// It owns who may ask, which commands are taken, and what passes between the two. It doesn't
// know what commands do. Whatever stands in the way, the command is done by the process that
// was started for it, as if there were no other.
package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Variable says where the socket is, or "off".
const Variable = "WEIR_DAEMON"

// A Client is a process that a command was started as.
type Client struct {
	Args, Environ []string
	In, Out, Err  *os.File
	Getwd         func() (string, error)
	// Build is a file of the program.
	Build string
	// Terminal reports whether somebody types, and Secret reads what isn't shown.
	Terminal func(*os.File) bool
	Secret   func(*os.File) (string, error)
	// Signals are the interrupts until the returned function is called.
	Signals func() (<-chan os.Signal, func())
}

// A Job is what a client wants done, by the process that it came to. The directory and the
// environment of that are the client's meanwhile.
type Job struct {
	Args, Environ []string
	Dir           string // as the client sees it
	Home          string
	Out, Err      *os.File
	Typed         Typed
	Signals       <-chan os.Signal
	// Exit ends the process at once, when the client was reported.
	Exit func(code int)
}

// Typed is what the client gets to read.
type Typed struct {
	io.Reader
	Terminal bool
	Secret   func() (string, error)
}

// A Server does what clients want, one thing at a time.
type Server struct {
	Environ []string // of its start
	Build   string   // a file of the program
	Now     func() time.Time
	// Idle is for how long it waits for something to do.
	Idle time.Duration
	// Do does it, and returns the exit code. A broken process isn't used again.
	Do func(Job) (code int, broken bool)
	// Exit ends the process at once.
	Exit func(code int)
	// Kept says what is kept, for people.
	Kept func() []string
}

// A Status is what a daemon says of itself.
type Status struct {
	Pid    int       `json:"pid"`
	Build  string    `json:"build"`
	Since  time.Time `json:"since"`
	Served int       `json:"served"`
	Busy   bool      `json:"busy"`
	Idle   string    `json:"idle"`
	Kept   []string  `json:"kept,omitempty"`
	Same   bool      `json:"same_build"`
}

// A request is the first thing that a client says.
type request struct {
	Want     string // "run", "status" or "stop"
	Build    string
	Args     []string
	Environ  []string
	Dir      string
	Umask    int
	Limits   []uint64
	Terminal bool
}

// The messages after that.
const (
	ready   = 'r' // the server has taken the request, and waits for begin
	refused = 'n' // the client does it itself
	begin   = 'b'
	signal  = 's' // with its number
	want    = 'w' // something to read
	secret  = 'p' // a line that isn't shown
	data    = 'd' // what was read
	ended   = 'e' // nothing is left to read
	exit    = 'x' // with the exit code
	answer  = 'a' // to another request than "run"
)

// served are the commands that are worth it and change nothing but the record beside a state.
// Anything that changes something runs in a process of its own: nothing that becomes of a
// daemon comes between an object and the journal then.
var served = []string{"plan", "validate", "show", "why", "impact"}

// own are variables that processes read once, some by libraries, so that a server with
// others can't stand in for a client; and what is about one process.
var (
	once = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ", "ZONEINFO", "LOCALDOMAIN", "RES_OPTIONS",
		"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK"}
	own = []string{"WEIR_COUNTERS", "WEIR_CPUPROFILE", "WEIR_MEMPROFILE", "TRACEPARENT", "TF_LOG", "TF_LOG_PROVIDER", "TF_REATTACH_PROVIDERS"}
)

// isServed reports whether a daemon is asked to do what a client was started for.
func isServed(args, environ []string) bool {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && (slices.Contains(own, name) || strings.HasPrefix(name, "OTEL_")) {
			return false
		}
	}
	for _, arg := range args[min(1, len(args)):] {
		if !strings.HasPrefix(arg, "-") {
			return slices.Contains(served, arg)
		}
	}
	return false
}

// Differs names a variable because of which a server with one environment can't stand in
// for a process with the other; none is empty.
func differs(server, client []string) string {
	a, b := fixed(server), fixed(client)
	for name, value := range a {
		if b[name] != value {
			return name
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			return name
		}
	}
	return ""
}

// fixed are the variables that are read once.
func fixed(environ []string) map[string]string {
	all := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		weirs := strings.HasPrefix(name, "WEIR_") && name != "WEIR_COMPAT" && name != Variable
		if weirs || strings.HasPrefix(name, "GRPC_") || slices.Contains(once, strings.ToUpper(name)) {
			all[name] = value
		}
	}
	return all
}

// Address is the file of the socket; empty where there is to be none.
func Address(getenv func(string) string, uid int) string {
	switch text := getenv(Variable); {
	case filepath.IsAbs(text):
		return text
	case text != "" && text != "on" && text != "1" && text != "true":
		return ""
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "weir", "daemon.sock")
	}
	return filepath.Join(os.TempDir(), "weir-"+strconv.Itoa(uid), "daemon.sock")
}

// getenv looks into an environment, where the last one counts.
func getenv(environ []string) func(string) string {
	return func(name string) string {
		for _, pair := range slices.Backward(environ) {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}
}

// ErrRunning is the error of serving where another daemon does.
var ErrRunning = errors.New("a daemon is running already")

// encode is a value as the other side reads it.
func encode(v any) []byte {
	text, _ := json.Marshal(v) // of plain fields
	return text
}
