// Package plugin talks to provider plugins: programs that serve a provider over gRPC, in
// protocol 5 or 6.
//
// It owns the processes, the two wire formats and the translation to cty. It doesn't know
// where a plugin came from and what its answers mean: it doesn't check them beyond what
// decoding them needs.
//
// A response of a call that failed as a whole has errors in Diags and NilVal
// for its values; a provider that answers with errors may have values too.
//
// # When a process ends by itself
//
// A provider outlives its process. The calls under way when the process ends
// fail if they may have changed something: what they did isn't known. Others
// are made once more, one by one. The next call starts another process, which
// is configured as the first one was. Five ends in a row without an answer in
// between are the last: all further calls fail with one message and are Unsent.
// After Stop nothing is started any more.
package plugin

import (
	"cmp"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/provider"
	"weir.dev/weir/internal/provider/plugin/handshake"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

// maxMessage is the largest message either way, in bytes.
const maxMessage = 256 << 20

// closeGrace is how long a plugin may take to end when asked to.
const closeGrace = 2 * time.Second

// A Command says how to run a plugin and how to talk to it.
type Command struct {
	// Path is the executable.
	Path string
	// Dir is where it is started; empty is where this process is.
	Dir string
	// Env is the whole environment of the process, less what the protocol of
	// plugins adds; nil is the environment of this process.
	Env []string
	// Log gets what the plugin logs, at LogLevel ("TRACE" to "ERROR", or "JSON" for all as
	// JSON). Without a Log the plugin is reported not to log.
	Log      io.Writer
	LogLevel string
	// EngineVersion is the version that providers are reported at configuration.
	EngineVersion string
	// Provider is the address of the provider for diagnostics; empty for the name of the file.
	Provider string
	// CallTimeout is how long one call may take; 0 is no limit.
	CallTimeout time.Duration
	// Deferral lets the provider know that it may postpone what it can't answer.
	Deferral bool
	// Reattach, when set, is a running plugin to use in place of Path.
	Reattach *Reattach
	// Guard, when set, is a process between this one and the plugin, which keeps
	// answers when this one is gone.
	Guard *Guard
	// patience is how long it may take until the plugin says where it serves; 0 is
	// startPatience.
	patience time.Duration
}

// startPatience leaves time for plugins of hundreds of megabytes on slow disks.
const startPatience = time.Minute

// A Guard says how to run one: Program is one that package providerproxy makes a guard, Hold
// the beginning of the name of the file that the guard holds.
type Guard struct{ Program, Hold string }

func (c *Command) name() string {
	if c.Reattach != nil {
		return c.Reattach.Addr.String()
	}
	return filepath.Base(c.Path)
}

// Start runs a plugin and asks it for its schemas.
func Start(ctx context.Context, command Command) (provider.Provider, *provider.Schemas, diag.List) {
	c, diags := start(ctx, command, (*client).loadSchemas)
	if c == nil {
		return nil, nil, diags
	}
	return c, c.schemas, diags
}

// start runs a plugin and prepares it; the client is nil when that failed.
func start(ctx context.Context, command Command, prepare func(*client, context.Context) diag.List) (*client, diag.List) {
	c, err := connect(ctx, command)
	if err != nil {
		return nil, startFailed(command, err)
	}
	diags := prepare(c, ctx)
	if diags.HasErrors() {
		c.Close()
		return nil, diags
	}
	return c, diags
}

func startFailed(command Command, err error) diag.List {
	var diags diag.List
	why := strings.TrimSpace(err.Error())
	if !strings.HasSuffix(why, ".") && !strings.HasSuffix(why, "?") {
		why += "."
	}
	diags.Add(Unavailable.As("Failed to start provider plugin").New(diag.Error, "Could not start %s: %s", command.name(), why))
	return diags
}

// connect gives a client without schemas.
func connect(ctx context.Context, command Command) (*client, error) {
	c := &client{
		name:    cmp.Or(command.Provider, command.name()),
		file:    command.name(),
		limit:   command.CallTimeout,
		version: command.EngineVersion,
		guarded: command.Guard != nil && command.Reattach == nil,
		capabilities: &tfplugin6.ClientCapabilities{
			DeferralAllowed:            command.Deferral,
			WriteOnlyAttributesAllowed: true,
			StorePlannedPrivate:        true,
			ComputedBlocksAllowed:      true,
		},
	}
	if command.Reattach != nil {
		return c, c.reattach(command.Reattach)
	}
	l := &supervisor{
		launch: func(ctx context.Context) (*incarnation, error) { return launch(ctx, command) },
		ready:  c.ready,
	}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	c.use(l)
	c.supervisor, c.end = l, l.close
	return c, nil
}

func (c *client) reattach(r *Reattach) error {
	addr := r.Addr
	conn, err := grpc.NewClient("passthrough:///provider",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
		}),
		callSizes())
	if err != nil {
		return err
	}
	c.use(speak(conn, r.Protocol))
	c.end = conn.Close
	return nil
}

func callSizes() grpc.DialOption {
	return grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))
}

// launch starts the process and waits until it serves, or until ctx ends.
func launch(ctx context.Context, command Command) (*incarnation, error) {
	p, err := newProcess(command)
	if err != nil {
		return nil, err
	}
	served, err := p.start(ctx)
	var conn *grpc.ClientConn
	if err == nil {
		conn, err = served.Dial(p.identity, callSizes(), grpc.WithStatsHandler(watcher{}))
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	printed := p.log.Printed("provider")
	go handshake.Print(ctx, conn, printed, io.MultiWriter(printed, &p.told))
	return &incarnation{
		conn: speak(conn, served.Protocol), process: p,
		end: sync.OnceValue(func() error { defer cancel(); return p.stop(conn) }),
	}, nil
}
