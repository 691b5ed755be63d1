package cos

import (
	"errors"
	"net/http"
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

func serve(t *testing.T) (*testservers.Tencent, string) {
	t.Helper()
	s := testservers.NewTencent()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, strings.TrimPrefix(server.URL, "http://")
}

type values = map[string]cty.Value

func text(s string) cty.Value { return cty.StringVal(s) }

func made(env map[string]string, transport http.RoundTripper, given values) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["bucket"], config["region"] = text("states"), text("ap-guangzhou")
	for name, v := range given {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Transport: transport, Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

func opened(t *testing.T, address string, given values) *Backend {
	t.Helper()
	config := values{"secret_id": text("key"), "secret_key": text("secret")}
	for name, v := range given {
		config[name] = v
	}
	b, said := made(nil, storagetest.Only{Address: address}, config)
	if b == nil {
		t.Fatal(said)
	}
	return b
}

func TestContract(t *testing.T) {
	for name, given := range map[string]values{
		"plain":  {},
		"prefix": {"prefix": text("a b/c"), "key": text("d/e"), "encrypt": cty.False, "acl": text("public-read"), "accelerate": cty.True},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				s, address := serve(t)
				s.Pages(2)
				return storagetest.Subject{New: func(t *testing.T) storage.Backend { return opened(t, address, given) }, ServerID: true}
			})
		})
	}
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	_, address := serve(t)
	storagetest.Silent(t, "tcp", address, func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, address, nil)
		return b, func(d time.Duration) {
			b.api.patience = d
			if b.opened != nil {
				b.opened.Patience = d
			}
		}
	})
}

// TestLostAnswers has the service do what it is requested, and not say so, or be busy.
func TestLostAnswers(t *testing.T) {
	server, address := serve(t)
	s := storagetest.State(t, opened(t, address, nil), "default")
	_, err := s.Read(t.Context())
	storagetest.Do(t, err)
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("2")))
	server.Fail(2)
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), id))
	if got := server.Object("terraform.tfstate"); string(got) != "2" {
		t.Errorf("stored %q", got)
	}
	if tags := server.Tags(); len(tags) != 0 {
		t.Errorf("left: %v", tags)
	}
}

// TestTagLeftBehind: who is killed between making the tag and the lock leaves the tag, which
// force-unlock removes by what the message has as the ID.
func TestTagLeftBehind(t *testing.T) {
	server, address := serve(t)
	s := storagetest.State(t, opened(t, address, nil), "default")
	value := digest([]byte("states:terraform.tfstate.tflock"))
	server.Tag("tencentcloud-terraform-lock:" + value)
	_, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.ID != value || !strings.Contains(err.Error(), "has left the tag") {
		t.Fatalf("got %v", err)
	}
	storagetest.Do(t, s.Unlock(t.Context(), held.Holder.ID))
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), id))
}

// TestNoBucket: a bucket that isn't there is no bucket without a state.
func TestNoBucket(t *testing.T) {
	_, address := serve(t)
	b := opened(t, address, values{"bucket": text("other")})
	if got, err := storagetest.State(t, b, "default").Read(t.Context()); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Workspaces(t.Context()); err == nil || !strings.Contains(err.Error(), "bucket other not exists") {
		t.Error(err)
	}
}

// TestDamaged: a state without its digest in a header isn't taken.
func TestDamaged(t *testing.T) {
	server, address := serve(t)
	server.Put("terraform.tfstate", []byte("1"))
	if _, err := storagetest.State(t, opened(t, address, nil), "default").Read(t.Context()); err == nil || !strings.Contains(err.Error(), digest([]byte("1"))) {
		t.Errorf("got %v", err)
	}
}

func TestCredentials(t *testing.T) {
	server, address := serve(t)
	home := t.TempDir()
	storagetest.Do(t, os.Mkdir(filepath.Join(home, ".tccli"), 0o700))
	for name, content := range map[string]string{
		"default": `{"secretId":"key ","secretKey":"secret"}`,
		"role":    `{"secretId":"key","secretKey":"secret","role-arn":"qcs::cam::uin/1:roleName/p","role-session-name":"s"}`,
		"broken":  `{`,
	} {
		storagetest.Do(t, os.WriteFile(filepath.Join(home, ".tccli", name+".credential"), []byte(content), 0o600))
	}
	role := func(given map[string]cty.Value) cty.Value {
		all := Schema().Blocks["assume_role"].Block.EmptyValue().AsValueMap()
		for name, v := range given {
			all[name] = v
		}
		return cty.SetVal([]cty.Value{cty.ObjectVal(all)})
	}
	key := values{"secret_id": text("key"), "secret_key": text("secret")}
	with := func(given values) values {
		for name, v := range key {
			given[name] = v
		}
		return given
	}
	for name, test := range map[string]struct {
		given values
		env   map[string]string
		want  string // the role that STS was asked for, or the problem
	}{
		"keys":         {key, nil, ""},
		"environment":  {nil, map[string]string{"TENCENTCLOUD_SECRET_ID": "temporary", "TENCENTCLOUD_SECRET_KEY": "secret", "TENCENTCLOUD_SECURITY_TOKEN": "token"}, ""},
		"wrong secret": {values{"secret_id": text("key"), "secret_key": text("other")}, nil, "! SignatureDoesNotMatch"},
		"tccli":        {nil, map[string]string{"HOME": home}, ""},
		"profile":      {values{"profile": text("role")}, map[string]string{"HOME": home}, "qcs::cam::uin/1:roleName/p s 7200"},
		"directory":    {values{"profile": text("role"), "shared_credentials_dir": text(filepath.Join(home, ".tccli"))}, nil, "qcs::cam::uin/1:roleName/p s 7200"},
		"instance":     {values{"cam_role_name": text("cvm")}, nil, ""},
		"role":         {with(values{"assume_role": role(values{"role_arn": text("r"), "session_name": text("s"), "session_duration": cty.NumberIntVal(60)})}), nil, "r s 60"},
		"role by name": {key, map[string]string{"TENCENTCLOUD_ASSUME_ROLE_ARN": "e", "TENCENTCLOUD_ASSUME_ROLE_SESSION_NAME": "s"}, "e s 7200"},
		"nothing":      {nil, nil, "! no credentials were found"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(server.Assumed())
			b, said := made(test.env, storagetest.Only{Address: address}, test.given)
			if b == nil {
				t.Fatal(said)
			}
			_, err := b.Workspaces(t.Context())
			if want, fails := strings.CutPrefix(test.want, "! "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			storagetest.Do(t, err)
			got := ""
			for _, ask := range server.Assumed()[before:] {
				got = strings.TrimSpace(strings.Join([]string{ask["RoleArn"].(string), ask["RoleSessionName"].(string), cty.NumberFloatVal(ask["DurationSeconds"].(float64)).AsBigFloat().Text('f', 0)}, " "))
			}
			if got != test.want {
				t.Errorf("asked STS for %q, want %q", got, test.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		given values
		env   map[string]string
		want  string // "" for nothing at all
		place string
	}{
		{place: "states.cos.ap-guangzhou.myqcloud.com cos://states/terraform.tfstate"},
		{given: values{"accelerate": cty.True, "prefix": text("p")}, place: "states.cos.accelerate.myqcloud.com cos://states/p/terraform.tfstate"},
		{env: map[string]string{"TENCENTCLOUD_ENDPOINT": "http://cos-internal.ap-guangzhou.tencentcos.cn"}, place: "states.cos-internal.ap-guangzhou.tencentcos.cn cos://states/terraform.tfstate"},
		{given: values{"region": cty.NullVal(cty.String)}, want: "The region of the bucket has to be set"},
		{given: values{"bucket": text("")}, want: "must not be empty"},
		{given: values{"prefix": text("/a")}, want: "prefix must not start with '/' or './'"},
		{given: values{"key": text("/a")}, want: "key can not start and end with '/'"},
		{given: values{"acl": text("all")}, want: "acl value invalid, expected private or public-read, got all"},
		{given: values{"endpoint": text("nowhere")}, want: "must be a URL"},
		{given: values{"profile": text("none")}, want: "The profile can't be used"},
	} {
		b, said := made(test.env, nil, test.given)
		if test.want == "" && (b == nil || said != "") || !strings.Contains(said, test.want) {
			t.Errorf("%v: %q, want %q", test.given, said, test.want)
		}
		if test.place != "" && b != nil && b.Place("default") != test.place {
			t.Errorf("%v: %s, want %s", test.given, b.Place("default"), test.place)
		}
	}
}
