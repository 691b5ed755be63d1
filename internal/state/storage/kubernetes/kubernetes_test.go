package kubernetes

import (
	"encoding/base64"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

func serve(t *testing.T) (*testservers.Kubernetes, string) {
	t.Helper()
	s := &testservers.Kubernetes{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func made(dir string, env map[string]string, values map[string]cty.Value) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["secret_suffix"] = cty.StringVal("app")
	for name, v := range values {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Dir: dir, Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

func opened(t *testing.T, address string, values map[string]cty.Value) *Backend {
	t.Helper()
	b, said := made("", map[string]string{"KUBE_HOST": address, "KUBE_TOKEN": "token"}, values)
	if b == nil {
		t.Fatal(said)
	}
	return b
}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		_, address := serve(t)
		return storagetest.Subject{New: func(t *testing.T) storage.Backend { return opened(t, address, nil) }}
	})
}

// TestSilent has a cluster that stops answering, in each request.
func TestSilent(t *testing.T) {
	_, address := serve(t)
	storagetest.Silent(t, "tcp", strings.TrimPrefix(address, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, "http://"+address, nil)
		return b, func(d time.Duration) {
			b.access.patience = d
			if b.opened != nil {
				b.opened.Patience = d
			}
		}
	})
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
	for range 2 { // made, and taken again
		server.Lose()
		id, err := s.Lock(t.Context(), storage.NewLockInfo("test", "me", "1"))
		storagetest.Do(t, err)
		server.Lose()
		storagetest.Do(t, s.Unlock(t.Context(), id))
	}
}

// TestObjects looks at what others read and write.
func TestObjects(t *testing.T) {
	server, address := serve(t)
	b := opened(t, address, map[string]cty.Value{"labels": cty.MapVal(map[string]cty.Value{"team": cty.StringVal("a")})})
	s := storagetest.State(t, b, "dev")
	id, err := s.Lock(t.Context(), storage.NewLockInfo("OperationTypeApply", "someone@somewhere", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	// Somebody adds a label, and leaves the state alone.
	const secret, lease = "/api/v1/namespaces/default/secrets/tfstate-dev-app", "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock-tfstate-dev-app"
	server.Change(secret, func(o map[string]any) { object(o).part("metadata", "labels")["other"] = "b" })
	storagetest.Do(t, s.Write(t.Context(), []byte("2")))
	server.Change(secret, func(o map[string]any) {
		got := object(o)
		for name, want := range map[string]string{"tfstate": "true", "tfstateSecretSuffix": "app", "tfstateWorkspace": "dev", "app.kubernetes.io/managed-by": "terraform", "team": "a", "other": "b"} {
			if got.label(name) != want {
				t.Errorf("label %s is %q", name, got.label(name))
			}
		}
		if got.part("metadata", "annotations")["encoding"] != "gzip" {
			t.Errorf("annotations %v", got.part("metadata", "annotations"))
		}
	})
	server.Change(lease, func(o map[string]any) {
		info, err := storage.ParseLockInfo([]byte(object(o).info()))
		if err != nil || info.ID != id || object(o).holder() != id || object(o).label("tfstateWorkspace") != "dev" {
			t.Errorf("%v %v", o, err)
		}
		delete(object(o).part("metadata", "annotations"), lockInfoLabel)
	})
	// The lease doesn't tell any more who holds it, and yet can be released.
	if _, err := s.Lock(t.Context(), storage.NewLockInfo("next", "me", "1")); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v", err)
	}
	storagetest.Do(t, s.Unlock(t.Context(), id))
	if err := s.Unlock(t.Context(), id); err == nil || !strings.Contains(err.Error(), "already unlocked") {
		t.Errorf("got %v", err)
	}
	server.Change(secret, func(o map[string]any) { delete(object(o).part("metadata", "labels"), "tfstate") })
	if err := b.DeleteWorkspace(t.Context(), "dev"); err == nil || !strings.Contains(err.Error(), "isn't deleted") {
		t.Errorf("deleted what isn't a state: %v", err)
	}
}

const kubeconfigs = `
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: here, user: me}
- name: two
  context: {cluster: here, user: program}
- name: lost
  context: {cluster: none, user: me}
clusters:
- name: here
  cluster: {server: "SERVER"}
users:
- name: me
  user: {token: mine}
- name: filed
  user: {tokenFile: token}
- name: plain
  user: {username: u, password: p}
- name: program
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [a]
      env: [{name: WHO, value: printed}]
- name: broken
  user: {client-certificate-data: "%"}
`

func TestWho(t *testing.T) {
	dir := t.TempDir()
	server, address := serve(t)
	for name, content := range map[string]string{
		"config": strings.ReplaceAll(kubeconfigs, "SERVER", address),
		"empty":  "apiVersion: v1\n",
		"bad":    "{{",
		"token":  "filed\n",
		"login":  "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" | grep -q 'client.authentication.k8s.io/v1\"' || exit 1\n[ $1 = a ] || { echo no such user >&2; exit 1; }\necho '{\"status\":{\"token\":\"'$WHO'\"}}'\n",
	} {
		storagetest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700))
	}
	text := func(values ...string) map[string]cty.Value {
		all := map[string]cty.Value{"config_path": cty.StringVal("config")}
		for i := 0; i < len(values); i += 2 {
			all[values[i]] = cty.StringVal(values[i+1])
		}
		return all
	}
	program := func(command, argument string) map[string]cty.Value {
		return map[string]cty.Value{"host": cty.StringVal(address), "exec": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
			"api_version": cty.StringVal("client.authentication.k8s.io/v1"), "command": cty.StringVal(command),
			"args": cty.ListVal([]cty.Value{cty.StringVal(argument)}), "env": cty.MapVal(map[string]cty.Value{"WHO": cty.StringVal("block")}),
		})})}
	}
	for name, test := range map[string]struct {
		env    map[string]string
		values map[string]cty.Value
		want   string
	}{
		"context":     {nil, text(), "Bearer mine"},
		"file":        {nil, text("config_context_auth_info", "filed"), "Bearer filed"},
		"basic":       {nil, text("config_context_auth_info", "plain"), "Basic " + base64.StdEncoding.EncodeToString([]byte("u:p"))},
		"program":     {nil, text("config_context", "two"), "Bearer printed"},
		"override":    {nil, text("token", "given"), "Bearer given"},
		"several":     {map[string]string{"KUBE_CONFIG_PATHS": "none:empty:config"}, nil, "Bearer mine"},
		"variable":    {map[string]string{"KUBE_CONFIG_PATH": "config", "KUBE_CTX": "two"}, nil, "Bearer printed"},
		"block":       {nil, program("./login", "a"), "Bearer block"},
		"refuses":     {nil, program("./login", "b"), "error: the program ./login gives no credentials: exit status 1: no such user"},
		"no context":  {nil, text("config_context", "x"), `error: there is no context "x" in the kubeconfig files`},
		"no cluster":  {nil, text("config_context", "lost"), `error: there is no cluster "none"`},
		"no user":     {nil, text("config_context_auth_info", "x"), `error: there is no user "x"`},
		"broken":      {nil, text("config_context_auth_info", "broken"), "error: client-certificate isn't base64"},
		"bad file":    {nil, text("config_path", "bad"), "error: the kubeconfig file bad can't be read"},
		"no file":     {nil, text("config_path", "none"), "error: the kubeconfig file can't be read"},
		"nothing":     {nil, nil, "error: there is no address of a cluster"},
		"not loaded":  {map[string]string{"KUBE_CONFIG_PATH": "config", "KUBE_LOAD_CONFIG_FILE": "false"}, nil, "error: there is no address of a cluster"},
		"no pod":      {nil, map[string]cty.Value{"in_cluster_config": cty.True}, "error: in_cluster_config is set, and this isn't a pod"},
		"bad suffix":  {nil, text("secret_suffix", "A_b"), `Invalid backend configuration: the secret name "tfstate-default-A_b" is invalid`},
		"bad space":   {nil, text("namespace", "a/b"), "Invalid backend configuration: \"a/b\" isn't the name of a namespace"},
		"bad setting": {map[string]string{"KUBE_INSECURE": "perhaps"}, nil, "Invalid backend configuration: \"perhaps\" stands for insecure"},
	} {
		t.Run(name, func(t *testing.T) {
			b, got := made(dir, test.env, test.values)
			if b != nil {
				if _, err := b.Workspaces(t.Context()); err != nil {
					got = "error: " + err.Error()
				} else {
					got = server.Log()[0].Who
				}
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
