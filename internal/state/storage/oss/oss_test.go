package oss

import (
	"errors"
	"net/http"
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

func serve(t *testing.T) (*testservers.Alibaba, string) {
	t.Helper()
	s := testservers.NewAlibaba()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

type values = map[string]cty.Value

func text(s string) cty.Value { return cty.StringVal(s) }

func made(env map[string]string, given values) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["bucket"] = text("states")
	for name, v := range given {
		config[name] = v
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

// opened is a backend at the address, as key where nothing else is given.
func opened(t *testing.T, address string, given values) *Backend {
	t.Helper()
	all := values{"endpoint": text(address), "access_key": text("key"), "secret_key": text("secret"), "region": text("eu-central-1")}
	for name, v := range given {
		all[name] = v
	}
	b, said := made(nil, all)
	if b == nil {
		t.Fatal(said)
	}
	b.Patience, b.Pause = 10*time.Second, time.Millisecond
	return b
}

func locked(address string) values {
	return values{"tablestore_endpoint": text(address), "tablestore_table": text("locks")}
}

func TestContract(t *testing.T) {
	for name, given := range map[string]values{
		"table":     {"prefix": text("a b"), "key": text("c/d.tfstate")},
		"no table":  {},
		"no prefix": {"prefix": text(""), "encrypt": cty.True, "acl": text("private")},
		"no region": {"region": cty.NullVal(cty.String)}, // has the older signatures
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				s, address := serve(t)
				s.Pages(2)
				all := locked(address)
				if name == "no table" {
					all = values{}
				}
				for name, v := range given {
					all[name] = v
				}
				return storagetest.Subject{New: func(t *testing.T) storage.Backend { return opened(t, address, all) }, NoLock: name == "no table"}
			})
		})
	}
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	_, address := serve(t)
	storagetest.Silent(t, "tcp", strings.TrimPrefix(address, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, "http://"+address, locked("http://"+address))
		return b, func(d time.Duration) {
			b.patience, b.table.patience = d, d
			if b.opened != nil {
				b.opened.Patience = d
			}
		}
	})
}

// TestLostAnswers has the service do what it is requested, and not say so, or be busy.
func TestLostAnswers(t *testing.T) {
	server, address := serve(t)
	s := storagetest.State(t, opened(t, address, locked(address)), "default")
	_, err := s.Read(t.Context())
	storagetest.Do(t, err)
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("2")))
	server.Fail(2)
	server.Busy(2)
	id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), id))
	if got := server.Object("env:/terraform.tfstate"); string(got) != "2" {
		t.Errorf("stored %q", got)
	}
	if row := server.Row("states/env:/terraform.tfstate-md5"); row["Digest"] != digest([]byte("2")) {
		t.Errorf("the digest is in %v", row)
	}
}

// TestDigests: a state that isn't that of the digest isn't taken, but for one that was
// announced by a run that was killed.
func TestDigests(t *testing.T) {
	server, address := serve(t)
	b := opened(t, address, locked(address))
	b.Patience = 0
	s := storagetest.State(t, b, "default")
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	server.Put("env:/terraform.tfstate", []byte("2"))
	const row = "states/env:/terraform.tfstate-md5"
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "set Digest in the row") || !strings.Contains(err.Error(), digest([]byte("2"))) {
		t.Errorf("a state of another digest: %v", err)
	}
	server.SetRow(row, map[string]string{"LockID": row, "Digest": digest([]byte("1")), "NextDigest": digest([]byte("2"))})
	if got, err := s.Read(t.Context()); err != nil || string(got) != "2" {
		t.Errorf("one that was announced: %q, %v", got, err)
	}
	if got := server.Row(row); got["Digest"] != digest([]byte("2")) {
		t.Errorf("other engines find the digest in %v", got)
	}
}

// TestWhereNotesAre: other programs take what is below the prefix for workspaces.
func TestWhereNotesAre(t *testing.T) {
	server, address := serve(t)
	b := opened(t, address, nil)
	for _, name := range []string{"default", "dev"} {
		storagetest.Do(t, storagetest.State(t, b, name).(storage.Noted).SetNote(t.Context(), []byte("note")))
	}
	if got, want := server.Keys(), []string{"env:.intents/dev/terraform.tfstate", "env:.intents/terraform.tfstate"}; !slices.Equal(got, want) {
		t.Errorf("notes are at %q", got)
	}
}

// TestNoNotes: where a policy rejects notes, all else continues.
func TestNoNotes(t *testing.T) {
	s, _ := serve(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, ".intents") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer server.Close()
	b := opened(t, server.URL, nil)
	if err := storagetest.State(t, b, "dev").(storage.Noted).SetNote(t.Context(), []byte("note")); !errors.Is(err, storage.ErrNoNotes) {
		t.Errorf("got %v", err)
	}
	storagetest.Do(t, b.CreateWorkspace(t.Context(), "dev"))
	storagetest.Do(t, b.DeleteWorkspace(t.Context(), "dev"))
}

func TestCredentials(t *testing.T) {
	server, address := serve(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.json")
	storagetest.Do(t, os.WriteFile(file, []byte(`{"profiles":[
		{"name":"plain","mode":"AK","access_key_id":"key","access_key_secret":"secret","sts_token":"old","region_id":"eu-central-1"},
		{"name":"token","mode":"StsToken","access_key_id":"temporary","access_key_secret":"secret","sts_token":"token"},
		{"name":"role","mode":"RamRoleArn","access_key_id":"key","access_key_secret":"secret","ram_role_arn":"acs:ram::1:role/p","ram_session_name":"s","expired_seconds":900},
		{"name":"ecs","mode":"EcsRamRole","ram_role_name":"instance"},
		{"name":"sso","mode":"CloudSSO"}]}`), 0o600))
	role := func(given map[string]cty.Value) cty.Value {
		all := Schema().Blocks["assume_role"].Block.EmptyValue().AsValueMap()
		for name, v := range given {
			all[name] = v
		}
		return cty.SetVal([]cty.Value{cty.ObjectVal(all)})
	}
	none := values{"access_key": cty.NullVal(cty.String), "secret_key": cty.NullVal(cty.String)}
	with := func(given values) values {
		all := values{}
		for _, from := range []values{none, {"shared_credentials_file": text(file)}, given} {
			for name, v := range from {
				all[name] = v
			}
		}
		return all
	}
	for name, test := range map[string]struct {
		given values
		want  string // what STS was asked for, or the problem
	}{
		"keys":                {values{}, ""},
		"token":               {values{"access_key": text("temporary"), "security_token": text("token")}, ""},
		"wrong secret":        {values{"secret_key": text("other")}, "! SignatureDoesNotMatch"},
		"profile":             {with(values{"profile": text("plain")}), ""},
		"profile token":       {with(values{"profile": text("token")}), ""},
		"profile role":        {with(values{"profile": text("role")}), "acs:ram::1:role/p s 900 "},
		"profile instance":    {with(values{"profile": text("ecs")}), ""},
		"instance":            {with(values{"ecs_role_name": text("instance")}), ""},
		"role":                {values{"assume_role_role_arn": text("acs:ram::1:role/r"), "assume_role_policy": text(`{"a": "b c"}`)}, `acs:ram::1:role/r weir 3600 {"a": "b c"}`},
		"role as a block":     {values{"assume_role": role(values{"role_arn": text("acs:ram::1:role/b"), "session_expiration": cty.NumberIntVal(1000)})}, "acs:ram::1:role/b weir 1000 "},
		"nothing":             {with(nil), "! no credentials were found"},
		"role of an instance": {with(values{"ecs_role_name": text("instance"), "assume_role_role_arn": text("acs:ram::1:role/i")}), "acs:ram::1:role/i weir 3600 "},
	} {
		t.Run(name, func(t *testing.T) {
			test.given["sts_endpoint"] = text(address)
			before := len(server.Assumed())
			b := opened(t, address, test.given)
			b.access.metadata.Host = strings.TrimPrefix(address, "http://")
			_, err := b.Workspaces(t.Context())
			if want, fails := strings.CutPrefix(test.want, "! "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			storagetest.Do(t, err)
			got := ""
			for _, q := range server.Assumed()[before:] {
				got = q.Get("RoleArn") + " " + q.Get("RoleSessionName") + " " + q.Get("DurationSeconds") + " " + q.Get("Policy")
			}
			if got != test.want {
				t.Errorf("asked STS for %q, want %q", got, test.want)
			}
		})
	}
	for name, want := range map[string]string{"none": "there is no profile", "sso": `it has the mode "CloudSSO"`} {
		if b, said := made(nil, with(values{"profile": text(name), "region": text("r")})); b != nil || !strings.Contains(said, want) {
			t.Errorf("profile %s: %s", name, said)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		given   values
		env     map[string]string
		want    string // "" for nothing at all
		address string
		region  string
	}{
		{given: values{"region": text("cn-beijing")}, address: "https://states.oss-cn-beijing.aliyuncs.com", region: "cn-beijing"},
		{env: map[string]string{"ALICLOUD_REGION": "cn-beijing"}, address: "https://states.oss-cn-beijing.aliyuncs.com", region: "cn-beijing"},
		{given: values{"endpoint": text("oss-cn-beijing-internal.aliyuncs.com")}, address: "https://states.oss-cn-beijing-internal.aliyuncs.com", region: "cn-beijing"},
		{env: map[string]string{"OSS_ENDPOINT": "http://10.0.0.1:80/"}, address: "http://10.0.0.1:80/states"},
		{want: "Either the region of the bucket or the address of OSS has to be set"},
		{given: values{"bucket": text("")}, want: "must not be empty"},
		{given: values{"region": text("r"), "prefix": text("./a")}, want: "workspace_key_prefix must not start with"},
		{given: values{"region": text("r"), "key": text("a/")}, want: "key can not start and end with '/'"},
		{given: values{"region": text("r"), "acl": text("all")}, want: `"acl" must be a valid ACL value`},
		{given: values{"region": text("r"), "tablestore_table": text("t")}, want: "A table for locks needs the address of its instance"},
		{given: values{"region": text("r"), "assume_role_role_arn": text("a"), "assume_role_session_expiration": cty.NumberIntVal(1)}, want: "expected assume_role_session_expiration to be in the range (900 - 3600), got 1"},
		{given: values{"endpoint": text("https://")}, want: "must be the host of the service"},
	} {
		b, said := made(test.env, test.given)
		if test.want == "" && (b == nil || said != "") || !strings.Contains(said, test.want) {
			t.Errorf("%v: %q, want %q", test.given, said, test.want)
		}
		if test.address == "" || b == nil {
			continue
		}
		service, err := b.open(t.Context())
		storagetest.Do(t, err)
		if service.Address.String() != test.address || b.region != test.region {
			t.Errorf("%v: %s in %q, want %s in %q", test.given, service.Address, b.region, test.address, test.region)
		}
	}
}

// TestRows: what can't be a row is no row.
func TestRows(t *testing.T) {
	whole := encodeRow(row{id: "a", cells: []cell{{"Info", "text"}}})
	if got, err := decodeRow(whole); err != nil || got["Info"] != "text" || got["LockID"] != "a" {
		t.Errorf("%v %v", got, err)
	}
	for n := range whole {
		if got, err := decodeRow(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d are %v", n, len(whole), got)
		}
	}
}
