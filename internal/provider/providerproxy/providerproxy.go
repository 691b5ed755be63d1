// Package providerproxy runs a proxy process between the engine and a provider, which records the
// provider's answers after the engine has died.
//
// It owns the process, where answers are and how one waits for them. It doesn't know what is
// in them: messages pass as bytes. A caller that starts a guard holds the other end of its
// standard input for as long as it lives.
//
// # What is kept
//
// A request whose metadata names a file under Header continues when who sent it is gone.
// Before the provider is asked, there is a file of that name with AskedSuffix; once it has
// answered, and before anybody else hears of it, the file itself with the bytes of the
// message. So without either, nobody was asked.
package providerproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/proc"
)

// Command is the argument of the engine's program that makes it a guard; the file
// that it holds while it lives and the provider follow.
const Command = "provider-guard"

const (
	// Header names the file for the answer to a request.
	Header = "weir-answer-bin"
	// AskedSuffix ends the name of a file that says that a provider was asked.
	AskedSuffix = ".asked"
)

// maxMessage is the largest message either way, in bytes.
const maxMessage = 256 << 20

// A guard is this process.
type guard struct {
	provider *grpc.ClientConn
	server   *grpc.Server
}

// Run is a guard. It ends when the provider has, and when the engine is gone and
// nothing is left to be answered; the result is an exit code.
func Run(args []string, env []string, in io.Reader, out, err io.Writer) int {
	if len(args) != 2 {
		return fail(err, errors.New("a guard takes two arguments"))
	}
	release, problem := hold(args[0])
	if problem != nil {
		return fail(err, problem)
	}
	defer release()
	cmd := &exec.Cmd{Path: args[1], Args: args[1:], Env: env}
	said, problem := cmd.StderrPipe()
	if problem != nil {
		return fail(err, problem)
	}
	told, problem := cmd.StdoutPipe()
	if problem != nil {
		return fail(err, problem)
	}
	if problem := proc.Start(cmd, syscall.SIGKILL); problem != nil {
		return fail(err, problem)
	}
	var copying sync.WaitGroup
	copying.Go(func() { drain(err, said) })
	lines := bufio.NewReader(told)
	handshake, _ := lines.ReadString('\n')
	g := &guard{}
	if serving, problem := g.serve(handshake); problem != nil {
		_, _ = io.WriteString(out, handshake) // for the engine to judge
	} else {
		_, _ = io.WriteString(out, serving)
	}
	copying.Go(func() { drain(out, lines) })
	go func() {
		_, _ = io.Copy(io.Discard, in)
		g.finish()
		proc.Kill(cmd.Process)
	}()
	copying.Wait()
	if problem := cmd.Wait(); problem != nil {
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

// finish waits until all that the engine has sent is done with.
func (g *guard) finish() {
	if g.server != nil {
		g.server.GracefulStop()
	}
}

func fail(to io.Writer, err error) int {
	_, _ = io.WriteString(to, err.Error()+"\n")
	return 1
}

// drain passes on what the provider prints. It may print when nobody reads it
// any more.
func drain(to io.Writer, from io.Reader) {
	_, _ = io.Copy(to, from)
	_, _ = io.Copy(io.Discard, from)
}

// serve takes the place of the provider that has said where it serves, and says
// where itself.
func (g *guard) serve(handshake string) (string, error) {
	// Version of the handshake, protocol, network, address, kind, certificate.
	parts := strings.Split(strings.TrimSpace(handshake), "|")
	if len(parts) < 5 || parts[2] != "unix" || parts[4] != "grpc" {
		return "", errors.New("no provider")
	}
	conn, err := grpc.NewClient("unix:"+parts[3], grpc.WithTransportCredentials(insecure.NewCredentials()), messages)
	if err != nil {
		return "", err
	}
	g.provider = conn
	parts[3] = filepath.Join(filepath.Dir(parts[3]), "g"+filepath.Base(parts[3]))
	listener, err := net.Listen("unix", parts[3])
	if err != nil {
		return "", err
	}
	g.server = grpc.NewServer(grpc.UnknownServiceHandler(g.forward), grpc.ForceServerCodecV2(plain{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	go func() { _ = g.server.Serve(listener) }()
	return strings.Join(parts, "|") + "\n", nil
}

var messages = grpc.WithDefaultCallOptions(grpc.ForceCodecV2(plain{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))

// forward passes one call on.
func (g *guard) forward(_ any, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in)
	headers, _ := metadata.FromIncomingContext(in.Context())
	headers = headers.Copy()
	ctx := in.Context()
	file := ""
	var first *message
	if named := headers.Get(Header); len(named) == 1 {
		file = named[0]
		ctx = context.WithoutCancel(ctx)
		headers.Delete(Header)
		// Whose request hasn't come whole isn't asked anything.
		first = new(message)
		if err := in.RecvMsg(first); err != nil {
			return err
		}
		if err := Asked(file); err != nil {
			return status.Errorf(codes.Internal, "the answer couldn't be kept, so nothing was asked: %s", err)
		}
	}
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, headers))
	defer cancel()
	out, err := g.provider.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	if first != nil {
		if err := out.SendMsg(first); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	go ask(in, out)
	return answer(in, out, file)
}

// ask passes on what the engine sends.
func ask(in grpc.ServerStream, out grpc.ClientStream) {
	for {
		var m message
		if in.RecvMsg(&m) != nil {
			_ = out.CloseSend()
			return
		}
		if out.SendMsg(&m) != nil {
			return
		}
	}
}

// answer passes on what the provider sends, and keeps it in a file if there is one.
func answer(in grpc.ServerStream, out grpc.ClientStream, file string) error {
	if headers, err := out.Header(); err == nil {
		_ = in.SendHeader(headers)
	}
	for {
		var m message
		err := out.RecvMsg(&m)
		if err != nil {
			in.SetTrailer(out.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if file != "" {
			if err := durable.Replace(file, m.data, 0o600); err != nil {
				return status.Errorf(codes.Internal, "the provider has answered, but that couldn't be kept: %s", err)
			}
		}
		if err := in.SendMsg(&m); err != nil && file == "" {
			return err
		}
	}
}

// Asked notes that a provider is asked.
func Asked(file string) error { return os.WriteFile(file+AskedSuffix, nil, 0o600) }

// Wait waits for the end of the guards that hold files with the given beginning of
// the name, and removes what those that were killed have left. Tell is called before
// it takes long.
func Wait(ctx context.Context, beginning string, tell func()) error {
	files, err := filepath.Glob(beginning + "*")
	if err != nil {
		return err
	}
	for _, name := range files {
		for busy(name) {
			if tell != nil {
				tell()
				tell = nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
		discard(name)
	}
	return nil
}

// discard removes a guard's file, and the directories that were made for it.
func discard(name string) {
	_ = os.Remove(name)
	_ = os.Remove(filepath.Dir(name))
	_ = os.Remove(filepath.Dir(filepath.Dir(name)))
}

// Answer reads what a provider has answered. Asked is whether anybody was asked.
func Answer(file string) (data []byte, answered, asked bool, err error) {
	data, err = os.ReadFile(file)
	if err == nil {
		return data, true, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, false, true, err
	}
	_, err = os.Stat(file + AskedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, false, nil
	}
	return nil, false, true, err
}
