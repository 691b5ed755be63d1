package plugin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider"
)

func self(t testing.TB, role string) Command {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: exe, Env: append(os.Environ(), roleEnv+"="+role), EngineVersion: "1.12.0"}
}

func startSelf(t testing.TB, command Command) (provider.Provider, *provider.Schemas) {
	t.Helper()
	p, schemas, diags := Start(t.Context(), command)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, schemas
}

// read asks for the thing with that name and returns its id.
func read(t testing.TB, p provider.Provider, name string) string {
	t.Helper()
	r := p.Read(t.Context(), provider.ReadRequest{Type: "test_thing", Current: thing(name)})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	return r.New.GetAttr("id").AsString()
}

func TestProtocols(t *testing.T) {
	for _, protocol := range []string{"5", "6"} {
		t.Run(protocol, func(t *testing.T) {
			p, schemas := startSelf(t, self(t, protocol))
			checkSchemas(t, schemas)
			checkCalls(t, p)
			checkValues(t, p)
		})
	}
}

func checkSchemas(t *testing.T, schemas *provider.Schemas) {
	s := schemas.Resource(addr.Managed, "test_thing")
	if got := s.Block.ImpliedType(); !got.Equals(thingType) {
		t.Errorf("type %#v", got)
	}
	secret := s.Block.Attributes["secret"]
	if !secret.WriteOnly || secret.DeprecationMessage != "Use a vault." || secret.Nested != nil {
		t.Errorf("secret: %+v", secret)
	}
	if name := s.Block.Attributes["name"]; name.WriteOnly || name.DeprecationMessage != "" {
		t.Errorf("name: %+v", name)
	}
	if disk := s.Block.Blocks["disk"]; disk.Nesting != schema.List || disk.Max != 4 {
		t.Errorf("disk: %+v", disk)
	}
	if s.Version != 3 || s.IdentityVersion != 2 || s.Identity == nil || !s.Identity.Attributes["arn"].Required {
		t.Errorf("versions and identity: %+v", s)
	}
	if !schemas.PlanDestroy || schemas.MoveState || schemas.Functions["upper"].Return != cty.String {
		t.Errorf("schemas: %+v", schemas)
	}
}

func checkCalls(t *testing.T, p provider.Provider) {
	ctx := t.Context()
	config := cty.ObjectVal(map[string]cty.Value{"region": cty.StringVal("x")})
	diags := p.ValidateConfig(ctx, config)
	want := cty.GetAttrPath("region").IndexInt(1).IndexString("k")
	if len(diags) != 1 || diags[0].Severity != diag.Warning || !diags[0].Path.Equals(want) {
		t.Errorf("diagnostics: %#v", diags)
	}
	if diags := p.Configure(ctx, config); diags != nil {
		t.Error(diags)
	}
	if got := read(t, p, "version"); got != "1.12.0" {
		t.Errorf("the provider was told version %q", got)
	}
	if diags := p.ValidateResource(ctx, addr.Data, "test_thing", thing("x")); len(diags) != 1 || diags[0].Summary != "Unsupported plugin method" {
		t.Errorf("of a method that is missing: %v", diags)
	}
	if diags := p.ValidateResource(ctx, addr.Managed, "nosuch", thing("x")); !strings.Contains(diags.Err().Error(), `"nosuch"`) {
		t.Errorf("of a type that is missing: %v", diags)
	}
	if err := p.Stop(ctx); err == nil || err.Error() != "busy" {
		t.Errorf("stop: %v", err)
	}
	if v, _, err := p.CallFunction(ctx, "upper", []cty.Value{cty.StringVal("a")}); err != nil || v.AsString() != "A" {
		t.Errorf("upper: %#v, %v", v, err)
	}
	if _, argument, err := p.CallFunction(ctx, "upper", []cty.Value{cty.StringVal("")}); err == nil || argument != 0 {
		t.Errorf("upper of nothing: %v about %d", err, argument)
	}
	if v, _, err := p.CallFunction(ctx, "upper", []cty.Value{cty.UnknownVal(cty.String)}); err != nil || v.IsKnown() {
		t.Errorf("upper of unknown: %#v, %v", v, err)
	}
	if _, _, err := p.CallFunction(ctx, "lower", nil); err == nil {
		t.Error("a function that doesn't exist was called")
	}
	opened := p.OpenEphemeral(ctx, "test_thing", thing("e"))
	if opened.Diags != nil || !opened.Result.RawEquals(thing("e")) || !opened.RenewAt.Equal(time.Unix(1000, 0)) || string(opened.Private) != "p" {
		t.Errorf("open: %+v", opened)
	}
}

func checkValues(t *testing.T, p provider.Provider) {
	ctx := t.Context()
	identity := cty.ObjectVal(map[string]cty.Value{"arn": cty.StringVal("a")})
	r := p.Read(ctx, provider.ReadRequest{Type: "test_thing", Current: thing("later"), Private: []byte("pp"), Identity: identity})
	if r.Diags != nil || !r.New.RawEquals(thing("later")) || !r.Identity.RawEquals(identity) ||
		string(r.Private) != "pp" || r.Deferred != provider.AbsentPrerequisite {
		t.Errorf("read: %+v", r)
	}
	if r := p.Read(ctx, provider.ReadRequest{Type: "test_thing", Current: thing("broken")}); len(r.Diags) != 1 || r.Diags[0].Summary != "Provider produced invalid object" {
		t.Errorf("a broken answer: %+v", r)
	}
	if n := len(read(t, p, "big")); n != 20<<20 {
		t.Errorf("a big value has %d bytes", n)
	}
	attrs := thing("x").AsValueMap()
	attrs["id"] = cty.UnknownVal(cty.String).Refine().NotNull().StringPrefix("i-").NewValue()
	for _, v := range []cty.Value{thing("json"), cty.ObjectVal(attrs)} {
		got := p.Plan(ctx, provider.PlanRequest{Type: "test_thing", Prior: cty.NullVal(thingType), ProposedNew: v, Config: v, PlannedPrivate: []byte("earlier")})
		if got.Diags != nil || string(got.Private) != "earlier" || !got.Planned.RawEquals(v) || !got.Legacy || len(got.RequiresReplace) != 1 ||
			!got.RequiresReplace[0].Equals(cty.GetAttrPath("name")) {
			t.Errorf("plan of %#v: %#v", v, got)
		}
	}
}

func TestCrashIsReported(t *testing.T) {
	p, _ := startSelf(t, self(t, "6"))
	r := p.Read(t.Context(), provider.ReadRequest{Type: "test_thing", Current: thing("crash")})
	if len(r.Diags) != 2 || r.Diags[0].Summary != "Plugin did not respond" {
		t.Fatalf("%v", r.Diags)
	}
	for _, want := range []string{"ReadResource call", "exit status 2", "panic: out of cheese", "plugin.test ended by itself"} {
		if !strings.Contains(r.Diags[0].Detail, want) {
			t.Errorf("%q isn't in %q", want, r.Diags[0].Detail)
		}
	}
	if d := r.Diags[1]; !d.Once || !strings.Contains(d.Detail, "goroutine ") || !strings.Contains(d.Detail, "panic: out of cheese") {
		t.Errorf("%+v", d)
	}
}

func TestCancelledCallReturns(t *testing.T) {
	p, _ := startSelf(t, self(t, "6"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := p.Read(ctx, provider.ReadRequest{Type: "test_thing", Current: thing("hang")})
	if len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Detail, "in time") {
		t.Errorf("%v", r.Diags)
	}
}

func TestStartFailures(t *testing.T) {
	notExecutable := t.TempDir() + "/terraform-provider-x"
	if err := os.WriteFile(notExecutable, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx     context.Context
		command Command
		want    string
	}{
		"no file":       {t.Context(), Command{Path: "/nonexistent/terraform-provider-x"}, "terraform-provider-x"},
		"not a program": {t.Context(), Command{Path: notExecutable}, "permission denied"},
		"not a plugin":  {t.Context(), self(t, "mute"), "this is no plugin"},
		"ends":          {t.Context(), self(t, "ends"), "It ended with exit status 4 (no cheese) before it said"},
		"cancelled":     {ctx, self(t, "6"), "canceled"},
	} {
		p, _, diags := Start(test.ctx, test.command)
		if p != nil || !diags.HasErrors() || !strings.Contains(diags.Err().Error(), test.want) {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

func TestLogSwitches(t *testing.T) {
	quiet, _ := startSelf(t, self(t, "6"))
	if got := read(t, quiet, "env:TF_LOG_SDK_PROTO"); got != "OFF" {
		t.Errorf("without logs TF_LOG_SDK_PROTO is %q", got)
	}
	var out syncBuffer
	command := self(t, "6")
	command.Log, command.LogLevel = &out, "WARN"
	loud, _ := startSelf(t, command)
	if got := read(t, loud, "env:TF_LOG_SDK_PROTO"); got == "OFF" {
		t.Error("logs are off though they are asked for")
	}
	read(t, loud, "log")
	// A plugin's output arrives separately.
	for range 500 {
		if strings.Contains(out.String(), "the cheese is low") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	loud.Close()
	if !strings.Contains(out.String(), "the cheese is low") {
		t.Errorf("log: %q", out.String())
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestWithoutTLS(t *testing.T) {
	command := self(t, "6")
	command.Env = append(command.Env, "TF_DISABLE_PLUGIN_TLS=1")
	p, _ := startSelf(t, command)
	if got := read(t, p, "env:PLUGIN_CLIENT_CERT"); got != "1" {
		t.Errorf("the plugin got a certificate: %q", got)
	}
}

// startAndWait is the engine in TestNoOrphans.
func startAndWait() {
	exe, _ := os.Executable()
	p, _, diags := Start(context.Background(), Command{Path: exe, Env: append(os.Environ(), roleEnv+"=6")})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	r := p.Read(context.Background(), provider.ReadRequest{Type: "test_thing", Current: thing("pid")})
	fmt.Println(r.New.GetAttr("id").AsString())
	select {}
}

func TestNoOrphans(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children with their parent")
	}
	command := self(t, "parent")
	parent := exec.Command(command.Path)
	sockets, err := os.MkdirTemp("", "w") // which the parent can't remove
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets)
	parent.Env = append(command.Env, "TMPDIR="+sockets)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	parent.Process.Kill()
	parent.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	waitGone(t, pid)
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// alive counts a process that only waits to be reaped as dead.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestParseReattach(t *testing.T) {
	got, err := ParseReattach(`{"registry.terraform.io/a/b":{"Protocol":"grpc","ProtocolVersion":6,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":"/tmp/x"}},`+
		`"a/old":{"Protocol":"grpc","Addr":{"Network":"tcp","String":"127.0.0.1:7"}}}`, addr.OpenTofu)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if r := got[addr.Provider{Host: "registry.terraform.io", Namespace: "a", Type: "b"}]; r.Protocol != 6 || r.Addr.String() != "/tmp/x" {
		t.Errorf("%+v", r)
	}
	if r := got[addr.Provider{Host: string(addr.OpenTofu), Namespace: "a", Type: "old"}]; r.Protocol != 5 || r.Addr.Network() != "tcp" {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{`{`, `{"a b":{}}`, `{"a/b":{}}`, `{"a/b":{"ProtocolVersion":4,"Addr":{"Network":"unix","String":"x"}}}`,
		`{"a/b":{"Protocol":"netrpc","Addr":{"Network":"unix","String":"x"}}}`} {
		if _, err := ParseReattach(bad, addr.OpenTofu); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func BenchmarkReadResource(b *testing.B) {
	p, _ := startSelf(b, self(b, "6"))
	current := thing("x")
	for b.Loop() {
		if r := p.Read(b.Context(), provider.ReadRequest{Type: "test_thing", Current: current}); r.Diags != nil {
			b.Fatal(r.Diags)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, _, diags := Start(b.Context(), self(b, "6"))
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		p.Close()
	}
}
