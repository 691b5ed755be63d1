package consul

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

func serve(t *testing.T) (*testservers.Consul, string) {
	t.Helper()
	s := &testservers.Consul{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, strings.TrimPrefix(server.URL, "http://")
}

func made(dir string, env map[string]string, values map[string]cty.Value) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["path"] = cty.StringVal("team/a b")
	for name, v := range values {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Dir: dir, Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

func opened(t *testing.T, address string, values map[string]cty.Value) *Backend {
	t.Helper()
	b, said := made("", map[string]string{"CONSUL_HTTP_ADDR": address}, values)
	if b == nil {
		t.Fatal(said)
	}
	return b
}

func TestContract(t *testing.T) {
	for name, values := range map[string]map[string]cty.Value{
		"plain":   nil,
		"gzip":    {"gzip": cty.True},
		"slash":   {"path": cty.StringVal("team/")},
		"no lock": {"lock": cty.False},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				_, address := serve(t)
				return storagetest.Subject{
					New:      func(t *testing.T) storage.Backend { return opened(t, address, values) },
					ServerID: true, NoLock: name == "no lock",
				}
			})
		})
	}
}

// TestPieces: what doesn't fit is kept in pieces, which go when their state is replaced.
func TestPieces(t *testing.T) {
	server, address := serve(t)
	b := opened(t, address, nil)
	s := storagetest.State(t, b, "dev")
	large := bytes.Repeat([]byte("x"), 1<<20)
	for _, test := range []struct {
		state []byte
		keys  int
	}{{[]byte("1"), 1}, {large, 3}, {large, 3}, {append(large, large...), 5}, {[]byte("2"), 1}, {large, 3}} {
		storagetest.Do(t, s.Write(t.Context(), test.state))
		if got, err := storagetest.State(t, b, "dev").Read(t.Context()); err != nil || !bytes.Equal(got, test.state) {
			t.Fatalf("%d bytes instead of %d: %v", len(got), len(test.state), err)
		}
		if keys := server.Keys(); len(keys) != test.keys {
			t.Errorf("%q", keys)
		}
	}
	storagetest.Do(t, b.DeleteWorkspace(t.Context(), "dev"))
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

func TestLostAnswer(t *testing.T) {
	server, address := serve(t)
	s := storagetest.State(t, opened(t, address, nil), "default")
	for _, content := range []string{"1", "2"} {
		_, err := s.Read(t.Context())
		storagetest.Do(t, err)
		server.Lose()
		storagetest.Do(t, s.Write(t.Context(), []byte(content)))
	}
}

// TestSession looks at what others read of a lock, and has its session end.
func TestSession(t *testing.T) {
	server, address := serve(t)
	b := opened(t, address, nil)
	s := storagetest.State(t, b, "default")
	id, err := s.Lock(t.Context(), storage.NewLockInfo("OperationTypeApply", "someone@somewhere", "1"))
	storagetest.Do(t, err)
	if _, session := server.Value("team/a b/.lock"); session != id {
		t.Errorf("held by %q, not %q", session, id)
	}
	text, _ := server.Value("team/a b/.lockinfo")
	if holder, err := storage.ParseLockInfo(text); err != nil || holder.ID != id || holder.Path != "team/a b" {
		t.Errorf("%s %v", text, err)
	}
	server.End()
	other := storagetest.State(t, b, "default")
	next, err := other.Lock(t.Context(), storage.NewLockInfo("next", "someone@somewhere", "1"))
	storagetest.Do(t, err)
	if err := s.Unlock(t.Context(), id); err == nil || !strings.Contains(err.Error(), "does not match existing lock") {
		t.Errorf("released what isn't its own: %v", err)
	}
	storagetest.Do(t, other.Unlock(t.Context(), next))
	if err := s.Unlock(t.Context(), id); err == nil || !strings.Contains(err.Error(), "isn't locked") {
		t.Errorf("got %v", err)
	}
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	storagetest.Do(t, os.WriteFile(filepath.Join(dir, "token"), []byte("filed\n"), 0o600))
	text := func(name, value string) map[string]cty.Value {
		return map[string]cty.Value{name: cty.StringVal(value)}
	}
	for name, test := range map[string]struct {
		env    map[string]string
		values map[string]cty.Value
		want   string
	}{
		"nothing":     {nil, nil, "http://127.0.0.1:8500"},
		"environment": {map[string]string{"CONSUL_HTTP_ADDR": "h:1", "CONSUL_HTTP_SSL": "true", "CONSUL_HTTP_TOKEN": "t"}, nil, "https://h:1 X-Consul-Token: t"},
		"file":        {map[string]string{"CONSUL_HTTP_ADDR": "https://h:1/sub/", "CONSUL_HTTP_TOKEN_FILE": "token"}, nil, "https://h:1/sub X-Consul-Token: filed"},
		"arguments":   {map[string]string{"CONSUL_HTTP_ADDR": "h:1", "CONSUL_HTTP_TOKEN": "t"}, map[string]cty.Value{"address": cty.StringVal("o:2"), "scheme": cty.StringVal("https"), "access_token": cty.StringVal("u"), "http_auth": cty.StringVal("me:pw")}, "https://o:2 Authorization: Basic bWU6cHc= X-Consul-Token: u"},
		"socket":      {map[string]string{"CONSUL_HTTP_ADDR": "unix:///run/consul"}, nil, "http://consul.socket"},
		"no path":     {nil, text("path", "/"), "Invalid backend configuration: The \"path\" attribute value must not be empty."},
		"bad scheme":  {nil, text("scheme", "ftp"), "Invalid backend configuration: The address of the agent is"},
		"no file":     {nil, text("ca_file", "none"), "Invalid backend configuration: The file can't be read: no such file"},
		"no pair":     {nil, text("cert_file", "token"), "Invalid backend configuration: The files of ca_file, cert_file and key_file can't be used"},
	} {
		t.Run(name, func(t *testing.T) {
			b, got := made(dir, test.env, test.values)
			if b != nil {
				got = b.kv.client.Base.String()
				var headers []string
				for name, values := range b.kv.client.Header {
					headers = append(headers, " "+name+": "+values[0])
				}
				slices.Sort(headers)
				got += strings.Join(headers, "")
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestSilent has an agent that stops answering, in each request.
func TestSilent(t *testing.T) {
	_, address := serve(t)
	storagetest.Silent(t, "tcp", address, func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, address, nil)
		return b, func(d time.Duration) { b.kv.client.Patience = d }
	})
}
