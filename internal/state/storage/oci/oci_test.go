package oci

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/youmark/pkcs8"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/state/storage"
	"weir.dev/weir/internal/state/storage/storagetest"
	"weir.dev/weir/internal/state/storage/testservers"
)

func serve(t *testing.T) (*testservers.Oracle, string) {
	t.Helper()
	s := testservers.NewOracle()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

type values = map[string]string

func made(env, given values) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	config["bucket"], config["namespace"] = cty.StringVal("states"), cty.StringVal("ns")
	for name, v := range given {
		config[name] = cty.StringVal(v)
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

const override = "CLIENT_HOST_OVERRIDES"

func opened(t *testing.T, s *testservers.Oracle, address string, given values) *Backend {
	t.Helper()
	all := values{"tenancy_ocid": "tenancy", "user_ocid": "user", "fingerprint": "print", "private_key": s.Key(), "region": "eu-frankfurt-1"}
	for name, v := range given {
		all[name] = v
	}
	b, said := made(values{override: "other=x;oci_object_storage.ObjectStorageClient=" + address}, all)
	if b == nil {
		t.Fatal(said)
	}
	return b
}

func TestContract(t *testing.T) {
	for name, given := range map[string]values{
		"plain":        {},
		"prefix":       {"workspace_key_prefix": "a b/c", "key": "d/e.tfstate"},
		"customer key": {"sse_customer_key": "a2V5", "sse_customer_key_sha256": "sum"},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, func(t *testing.T) storagetest.Subject {
				s, address := serve(t)
				s.Pages(2)
				return storagetest.Subject{New: func(t *testing.T) storage.Backend { return opened(t, s, address, given) }}
			})
		})
	}
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	s, address := serve(t)
	storagetest.Silent(t, "tcp", strings.TrimPrefix(address, "http://"), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, s, "http://"+address, nil)
		return b, func(d time.Duration) {
			b.access.patience = d
			if b.opened != nil {
				b.opened.Patience = d
			}
		}
	})
}

// TestLostAnswers has the service do what it is requested, and not say so, or be busy.
func TestLostAnswers(t *testing.T) {
	server, address := serve(t)
	s := storagetest.State(t, opened(t, server, address, nil), "default")
	_, err := s.Read(t.Context())
	storagetest.Do(t, err)
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("1")))
	server.Lose()
	storagetest.Do(t, s.Write(t.Context(), []byte("2")))
	server.Lose()
	server.Fail(1)
	info := storage.NewLockInfo("apply", "me", "1")
	id, err := s.Lock(t.Context(), info)
	storagetest.Do(t, err)
	if id != info.ID {
		t.Errorf("the lock is %s", id)
	}
	storagetest.Do(t, s.Unlock(t.Context(), id))
	if got := server.Object("terraform.tfstate"); string(got) != "2" {
		t.Errorf("stored %q", got)
	}
}

// TestNoBucket: without the bucket, or the right to see it, nobody knows whether there is a
// state.
func TestNoBucket(t *testing.T) {
	server, address := serve(t)
	for _, given := range []values{{"bucket": "other"}, {"namespace": "other"}} {
		s := storagetest.State(t, opened(t, server, address, given), "default")
		if got, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "BucketNotFound: Either the bucket does not exist") {
			t.Errorf("%v: %q, %v", given, got, err)
		}
	}
}

// TestKeys has the keys that the server encrypts states with, but not locks.
func TestKeys(t *testing.T) {
	server, address := serve(t)
	for header, given := range map[string]values{
		"Opc-Sse-Kms-Key-Id":   {"kms_key_id": "key"},
		"Opc-Sse-Customer-Key": {"sse_customer_key": "key", "sse_customer_key_sha256": "sum"},
	} {
		s := storagetest.State(t, opened(t, server, address, given), "default")
		server.Log()
		storagetest.Do(t, s.Write(t.Context(), []byte("1")))
		id, err := s.Lock(t.Context(), storage.NewLockInfo("apply", "me", "1"))
		storagetest.Do(t, err)
		log := server.Log()
		if state, lock := log[0].Header.Get(header), log[1].Header.Get(header); state != "key" || lock != "" {
			t.Errorf("%s: %q and %q", header, state, lock)
		}
		storagetest.Do(t, s.Unlock(t.Context(), id))
	}
}

func TestCredentials(t *testing.T) {
	server, address := serve(t)
	home := t.TempDir()
	storagetest.Do(t, os.Mkdir(filepath.Join(home, ".oci"), 0o700))
	file := func(name, content string) string {
		path := filepath.Join(home, ".oci", name)
		storagetest.Do(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	key := file("key.pem", server.Key())
	token := file("token", "token")
	file("ip_cert.pem", server.Certificate())
	file("ip_key.pem", server.Key())
	file("intermediate.pem", server.Certificate())
	pod := t.TempDir()
	storagetest.Do(t, os.WriteFile(filepath.Join(pod, "token"), []byte("account\n"), 0o600))
	block, _ := pem.Decode([]byte(server.Key()))
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	storagetest.Do(t, err)
	der, err := pkcs8.MarshalPrivateKey(private, []byte("secret"), nil)
	storagetest.Do(t, err)
	encrypted := string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}))
	file("config", "[DEFAULT]\n[api]\nuser=user\ntenancy=tenancy\nfingerprint=print\nregion=eu-frankfurt-1\nkey_file="+key+
		"\n[session]\ntenancy=tenancy\nfingerprint=print\nregion=eu-frankfurt-1\nkey_file="+key+"\nsecurity_token_file="+token+"\n")
	for _, test := range []struct {
		given values
		env   values
		want  string // who asked, or the problem
	}{
		{given: values{"tenancy_ocid": "tenancy", "user_ocid": "user", "fingerprint": "print", "private_key_path": key}, want: "tenancy/user/print"},
		{given: values{"private_key_path": "~/.oci/key.pem"}, env: values{"OCI_tenancy_ocid": "tenancy", "user_ocid": "user", "OCI_fingerprint": "print"}, want: "tenancy/user/print"},
		{given: values{"tenancy_ocid": "other", "user_ocid": "user", "fingerprint": "print", "private_key_path": key}, want: `! nobody is known as "other/user/print"`},
		{given: values{"config_file_profile": "api"}, want: "tenancy/user/print"},
		{given: values{"auth": "securitytoken", "region": "eu-frankfurt-1", "config_file_profile": "session"}, want: "ST$token"},
		{given: values{"config_file_profile": "none"}, want: "! did not contain profile"},
		{given: values{"private_key": strings.ReplaceAll(encrypted, "\n", `\n`), "private_key_password": "secret", "tenancy_ocid": "tenancy", "user_ocid": "user", "fingerprint": "print"}, want: "tenancy/user/print"},
		{given: values{"auth": "ResourcePrincipal"}, env: values{
			"OCI_RESOURCE_PRINCIPAL_VERSION": "2.2", "OCI_RESOURCE_PRINCIPAL_RPST": "token", "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM": key, "OCI_RESOURCE_PRINCIPAL_REGION": "eu-frankfurt-1",
		}, want: "ST$token"},
		{given: values{"auth": "InstancePrincipal", "region": "eu-frankfurt-1"}, want: "ST$session-1"},
		{given: values{"auth": "InstancePrincipalWithCerts", "region": "eu-frankfurt-1"}, env: values{"OCI_test_certificates_location": filepath.Join(home, ".oci")}, want: "ST$session-2"},
		{given: values{"auth": "OKEWorkloadIdentity"}, env: values{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, want: "ST$session-3"},
		{given: values{"auth": "ResourcePrincipal"}, want: `! OCI_RESOURCE_PRINCIPAL_VERSION is "", and 2.2 is the only one`},
		{given: values{"auth": "OKEWorkloadIdentity"}, want: "! KUBERNETES_SERVICE_HOST isn't set"},
		{given: values{"auth": "InstancePrincipalWithCerts", "region": "eu-frankfurt-1"}, want: "! ip_cert.pem"},
	} {
		env := values{override: "oci_object_storage.ObjectStorageClient=" + address, "OCI_HOME_OVERRIDE": home}
		for name, v := range test.env {
			env[name] = v
		}
		b, said := made(env, test.given)
		if b == nil {
			t.Errorf("%v: %s", test.given, said)
			continue
		}
		server.Log()
		b.access.pod, b.access.transport = pod, storagetest.Only{Address: strings.TrimPrefix(address, "http://")}
		_, err := b.Workspaces(t.Context())
		if want, fails := strings.CutPrefix(test.want, "! "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, want %s", test.given, err, want)
			}
			continue
		}
		if log := server.Log(); err != nil || len(log) != 1 || log[0].Who != test.want {
			t.Errorf("%v: %v, %v", test.given, log, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, test := range []struct {
		given, env values
		want       string // "" for nothing at all
		address    string
	}{
		{given: values{"region": "eu-frankfurt-1"}, address: "https://objectstorage.eu-frankfurt-1.oraclecloud.com"},
		{given: values{"region": "us-gov-ashburn-1"}, address: "https://objectstorage.us-gov-ashburn-1.oraclegovcloud.com"},
		{given: values{"region": "r"}, env: values{"OCI_domain_name_override": "example.com"}, address: "https://objectstorage.r.example.com"},
		{given: values{"bucket": "a/b"}, want: "The bucket name can only include"},
		{given: values{"namespace": ""}, want: `The attribute "namespace" is required`},
		{given: values{"key": "a//b"}, want: `contain consecutive "/"`},
		{given: values{"workspace_key_prefix": "/a"}, want: `must not start with "/"`},
		{given: values{"auth": "Password"}, want: "auth must be one of ApiKey, InstancePrincipal, InstancePrincipalWithCerts, SecurityToken, ResourcePrincipal, OKEWorkloadIdentity"},
		{given: values{"auth": "InstancePrincipal"}, want: `The attribute "region" is required by the backend for InstancePrincipal authentication.`},
		{given: values{"auth": "SecurityToken", "region": "r"}, want: `The attribute "config_file_profile" is required`},
		{given: values{"private_key": "a", "private_key_path": "b"}, want: "Only one of private_key, private_key_path can be set."},
		{given: values{"sse_customer_key": "a"}, want: "sse_customer_key and its SHA both required."},
		{given: values{"sse_customer_key": "a", "sse_customer_key_sha256": "b", "kms_key_id": "c"}, want: "Only one of kms_key_id, sse_customer_key can be set."},
		{env: values{"use_obo_token": "perhaps"}, want: "must be true or false"},
	} {
		b, said := made(test.env, test.given)
		if test.want == "" && (b == nil || said != "") || !strings.Contains(said, test.want) {
			t.Errorf("%v: %q, want %q", test.given, said, test.want)
		}
		if test.address == "" || b == nil {
			continue
		}
		if got, err := b.access.address(b.access.region); err != nil || got.String() != test.address {
			t.Errorf("%v: %s %v, want %s", test.given, got, err, test.address)
		}
	}
}

// TestOnBehalf has a token of somebody else, which is signed as well.
func TestOnBehalf(t *testing.T) {
	server, address := serve(t)
	b := opened(t, server, address, nil)
	b.access.certainlyBehalf, b.access.onBehalf = true, "theirs"
	_, err := b.Workspaces(t.Context())
	storagetest.Do(t, err)
	request := server.Log()[0]
	if request.Header.Get("Opc-Obo-Token") != "theirs" || !strings.Contains(request.Header.Get("Authorization"), "opc-obo-token") {
		t.Errorf("%v", request.Header)
	}
}
