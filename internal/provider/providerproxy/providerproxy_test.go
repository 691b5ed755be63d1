//go:build unix

package providerproxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"weir.dev/weir/internal/provider/providerproxy"
)

const sockets = "GUARD_TEST_SOCKETS"

// TestMain is the provider too: one that answers when the file "go" is there.
func TestMain(m *testing.M) {
	dir := os.Getenv(sockets)
	if dir == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("unix", filepath.Join(dir, "p"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|6|unix|%s|grpc|\n", l.Addr())
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		var m wrapperspb.StringValue
		if err := in.RecvMsg(&m); err != nil {
			return err
		}
		for in.Context().Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
				return in.SendMsg(wrapperspb.String(m.Value + " made"))
			}
			time.Sleep(time.Millisecond)
		}
		return in.Context().Err()
	}))
	_ = s.Serve(l)
}

// Anything that was asked with a file is answered into it although the engine is gone, and the
// guard ends then; what was asked without one is given up.
func TestEngineGone(t *testing.T) {
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	hold := filepath.Join(dir, "tests", ".guards", "a-1")
	in, engine := io.Pipe()
	printed, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- providerproxy.Run([]string{hold, os.Args[0]}, append(os.Environ(), sockets+"="+dir), in, out, io.Discard)
	}()
	var at string
	if _, err := fmt.Fscanln(printed, &at); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, printed) }()
	conn, err := grpc.NewClient("unix:"+strings.Split(at, "|")[3], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "answer")
	calls := make(chan error, 2)
	for _, ctx := range []context.Context{metadata.AppendToOutgoingContext(t.Context(), providerproxy.Header, file), t.Context()} {
		go func() {
			calls <- conn.Invoke(ctx, "/tfplugin6.Provider/ApplyResourceChange", wrapperspb.String("it"), new(wrapperspb.StringValue))
		}()
	}
	for asked := false; !asked; {
		if _, _, asked, err = providerproxy.Answer(file); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	engine.Close()
	for range cap(calls) {
		if err := <-calls; err == nil {
			t.Error("a call has ended well before it was answered")
		}
	}
	told := false
	if err := providerproxy.Wait(t.Context(), filepath.Join(dir, "tests", ".guards", "a-"), func() {
		told = true
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}); err != nil || !told {
		t.Errorf("waiting ended with %v, and told of it: %v", err, told)
	}
	data, answered, _, err := providerproxy.Answer(file)
	if !answered || !strings.Contains(string(data), "it made") {
		t.Errorf("the answer is %q (%v)", data, err)
	}
	<-ended
	if _, err := os.Stat(filepath.Join(dir, "tests")); err == nil {
		t.Error("the guard's directory is still there")
	}
}

func TestNobodyAsked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answer")
	if _, answered, asked, err := providerproxy.Answer(file); answered || asked || err != nil {
		t.Error("somebody was asked", err)
	}
	if err := providerproxy.Asked(file); err != nil {
		t.Fatal(err)
	}
	if _, answered, asked, err := providerproxy.Answer(file); answered || !asked || err != nil {
		t.Error("nobody was asked", err)
	}
}
