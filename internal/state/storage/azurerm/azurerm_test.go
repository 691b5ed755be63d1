package azurerm

import (
	"context"
	"encoding/base64"
	"maps"
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

func serve(t *testing.T) (*testservers.Azure, *http.Client) {
	t.Helper()
	s := &testservers.Azure{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &http.Client{Transport: storagetest.Only{Address: server.Listener.Addr().String()}}
}

func made(env, values map[string]string) (*Backend, string) {
	config := Schema().EmptyValue().AsValueMap()
	all := map[string]string{"storage_account_name": "account", "container_name": "states", "key": "a b/app.tfstate"}
	for name, v := range values {
		all[name] = v
	}
	for name, v := range all {
		switch a := Schema().Attributes[name]; a.Type {
		case cty.Bool:
			config[name] = cty.BoolVal(v == "true")
		default:
			config[name] = cty.StringVal(v)
		}
	}
	b, diags := New(cty.ObjectVal(config), storage.Env{Getenv: func(name string) string { return env[name] }})
	return b, storagetest.Said(diags)
}

func opened(t *testing.T, client *http.Client, env, values map[string]string) *Backend {
	t.Helper()
	b, said := made(env, values)
	if b == nil {
		t.Fatal(said)
	}
	b.HTTP = client
	return b
}

var withKey = map[string]string{"access_key": testservers.AzureKey}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		_, client := serve(t)
		return storagetest.Subject{New: func(t *testing.T) storage.Backend { return opened(t, client, nil, withKey) }}
	})
}

func info(operation string) storage.LockInfo {
	return storage.NewLockInfo(operation, "someone@somewhere", "1")
}

// TestLock looks at what others read, and at locks that runs left behind halfway.
func TestLock(t *testing.T) {
	server, client := serve(t)
	b := opened(t, client, nil, withKey)
	s := storagetest.State(t, b, "dev")
	id, err := s.Lock(t.Context(), info("OperationTypeApply"))
	storagetest.Do(t, err)
	if got, _ := server.Blob("a b/app.tfstateenv:dev"); string(got) != storage.NoState {
		t.Errorf("there is %q", got)
	}
	storagetest.Do(t, s.Write(t.Context(), []byte("{}")))
	service, err := b.open(t.Context())
	storagetest.Do(t, err)
	at, err := service.properties(t.Context(), "a b/app.tfstateenv:dev")
	storagetest.Do(t, err)
	text, _ := base64.StdEncoding.DecodeString(at.metadata["terraformlockid"])
	if holder, err := storage.ParseLockInfo(text); err != nil || holder.ID != id || holder.Path != "https://account.blob.core.windows.net/states/a%20b/app.tfstateenv:dev" {
		t.Errorf("%s %v", text, err)
	}
	if err := storagetest.State(t, b, "dev").Write(t.Context(), []byte("other")); err == nil || !strings.Contains(err.Error(), "somebody has locked the state") {
		t.Errorf("written beside a lock: %v", err)
	}
	storagetest.Do(t, s.Unlock(t.Context(), id))
	// The lease is there, and nobody said whose it is.
	storagetest.Do(t, service.lease(t.Context(), "a b/app.tfstateenv:dev", "11111111-1111-1111-1111-111111111111"))
	if _, err := s.Lock(t.Context(), info("next")); err == nil || !strings.Contains(err.Error(), "was empty") {
		t.Errorf("got %v", err)
	}
	if err := s.Unlock(t.Context(), id); err == nil {
		t.Error("released with another id")
	}
	storagetest.Do(t, s.Unlock(t.Context(), "11111111-1111-1111-1111-111111111111"))
	id, err = s.Lock(t.Context(), info("next"))
	storagetest.Do(t, err)
	storagetest.Do(t, s.Unlock(t.Context(), id))
}

// asked notes what is asked of a service.
type asked struct {
	http.RoundTripper
	what []string
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.what = append(a.what, strings.TrimSpace(r.URL.Query().Get("comp")+" "+r.Header.Get("X-Ms-Lease-Action")))
	return a.RoundTripper.RoundTrip(r)
}

// TestNamed: who has the lease is named until its end. Other programs don't wait for somebody
// without a name.
func TestNamed(t *testing.T) {
	_, client := serve(t)
	a := &asked{RoundTripper: client.Transport}
	s := storagetest.State(t, opened(t, &http.Client{Transport: a}, nil, withKey), storage.DefaultWorkspace)
	id, err := s.Lock(t.Context(), info("OperationTypeApply"))
	storagetest.Do(t, err)
	a.what = nil
	storagetest.Do(t, s.Unlock(t.Context(), id))
	release, text := slices.Index(a.what, "lease release"), slices.Index(a.what, "metadata")
	if release < 0 || text < release {
		t.Errorf("asked for %q", a.what)
	}
	at, err := opened(t, client, nil, withKey).open(t.Context())
	storagetest.Do(t, err)
	if e, err := at.properties(t.Context(), "a b/app.tfstate"); err != nil || e.leased || e.metadata[holderKey] != "" {
		t.Errorf("left: %+v, %v", e, err)
	}
}

// TestEmpty has the blob that an incumbent puts before it locks.
func TestEmpty(t *testing.T) {
	server, client := serve(t)
	b := opened(t, client, nil, withKey)
	service, err := b.open(t.Context())
	storagetest.Do(t, err)
	_, err = service.put(t.Context(), "a b/app.tfstate", []byte{}, entry{}, "")
	storagetest.Do(t, err)
	s := storagetest.State(t, b, "default")
	if got, err := s.Read(t.Context()); got != nil || err != nil {
		t.Errorf("%q %v", got, err)
	}
	storagetest.Do(t, s.Write(t.Context(), []byte("{}")))
	if got, _ := server.Blob("a b/app.tfstate"); string(got) != "{}" {
		t.Errorf("%q", got)
	}
}

func TestLostAnswer(t *testing.T) {
	server, client := serve(t)
	s := storagetest.State(t, opened(t, client, nil, withKey), "default")
	for _, content := range []string{"1", "2"} {
		_, err := s.Read(t.Context())
		storagetest.Do(t, err)
		server.Lose()
		storagetest.Do(t, s.Write(t.Context(), []byte(content)))
	}
}

func TestSnapshots(t *testing.T) {
	server, client := serve(t)
	b := opened(t, client, map[string]string{"ARM_SNAPSHOT": "true"}, withKey)
	s := storagetest.State(t, b, "dev")
	for _, content := range []string{"1", "2", "3"} {
		storagetest.Do(t, s.Write(t.Context(), []byte(content)))
	}
	if _, n := server.Blob("a b/app.tfstateenv:dev"); n != 2 {
		t.Errorf("%d snapshots", n)
	}
	storagetest.Do(t, b.DeleteWorkspace(t.Context(), "dev"))
	storagetest.Do(t, b.DeleteWorkspace(t.Context(), "dev"))
}

// TestSealing: requests have the customer's key or the scope.
func TestSealing(t *testing.T) {
	server, client := serve(t)
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	storagetest.Do(t, storagetest.State(t, opened(t, client, nil, map[string]string{"access_key": "a2V5", "customer_provided_key": key}), "default").Write(t.Context(), []byte("1")))
	storagetest.Do(t, storagetest.State(t, opened(t, client, nil, map[string]string{"access_key": "a2V5", "encryption_scope": "mine"}), "dev").Write(t.Context(), []byte("1")))
	var keys, scopes int
	for _, r := range server.Log() {
		if r.Header.Get("X-Ms-Encryption-Key") == key && r.Header.Get("X-Ms-Encryption-Algorithm") == "AES256" {
			keys++
		}
		if r.Header.Get("X-Ms-Encryption-Scope") == "mine" {
			scopes++
		}
	}
	if keys != 2 || scopes != 1 {
		t.Errorf("%d requests with the key, %d with the scope", keys, scopes)
	}
}

// TestWho has each kind of credentials that can be had without a machine of Azure's.
func TestWho(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	storagetest.Do(t, os.WriteFile(file, []byte("s"), 0o600))
	base := map[string]string{"use_cli": "false", "tenant_id": "tenant", "client_id": "client", "subscription_id": "sub", "resource_group_name": "group"}
	for name, test := range map[string]struct {
		env, values map[string]string
		want        string // begin of Authorization of requests for blobs, or of the error
	}{
		"secret":        {nil, map[string]string{"client_secret": "s"}, "SharedKey account:"},
		"file":          {nil, map[string]string{"client_secret_file_path": file, "use_azuread_auth": "true"}, "Bearer token"},
		"token":         {map[string]string{"ARM_USE_OIDC": "true", "ARM_OIDC_TOKEN": "jwt"}, map[string]string{"use_azuread_auth": "true"}, "Bearer token"},
		"key":           {map[string]string{"ARM_ACCESS_KEY": "a2V5"}, nil, "SharedKey account:"},
		"signature":     {nil, map[string]string{"sas_token": "?sv=1&sig=a%2Bb"}, ""},
		"no group":      {nil, map[string]string{"client_secret": "s", "resource_group_name": ""}, "error: the access key of the storage account can't be asked for: resource_group_name isn't set"},
		"nothing":       {nil, nil, "error: No valid azure auth methods found.\n\n- client certificate: client_certificate isn't set\n- client secret: client_secret isn't set\n- Azure DevOps: use_oidc isn't true"},
		"two secrets":   {nil, map[string]string{"client_secret": "x", "client_secret_file_path": file}, "error: No valid azure auth methods found.\n\n- client certificate: client_certificate isn't set\n- client secret: client_secret and its file don't have the same content"},
		"no file":       {nil, map[string]string{"client_secret_file_path": "none"}, "error: No valid azure auth methods found."},
		"bad cert":      {nil, map[string]string{"client_certificate": "AAAA"}, "error: No valid azure auth methods found.\n\n- client certificate: the certificate can't be read"},
		"no cloud":      {nil, map[string]string{"environment": "moon"}, "Invalid backend configuration: There is no cloud named \"moon\""},
		"bad key":       {nil, map[string]string{"access_key": "%"}, "Invalid backend configuration: The access key"},
		"bad account":   {nil, map[string]string{"storage_account_name": "A"}, "Invalid backend configuration: The name of a storage account"},
		"bad container": {nil, map[string]string{"container_name": "a--b"}, "Invalid backend configuration: The name of a container"},
		"bad seal":      {nil, map[string]string{"customer_provided_key": "AAAA"}, "Invalid backend configuration: The key must have 32 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := serve(t)
			values := map[string]string{}
			for _, more := range []map[string]string{base, test.values} {
				for name, v := range more {
					values[name] = v
				}
			}
			b, said := made(test.env, values)
			got := said
			if b != nil {
				b.HTTP = client
				got = who(t.Context(), b, server)
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s", got)
			}
			if strings.Contains(got, "sig=") {
				t.Error("a secret is told")
			}
		})
	}
}

// TestLookup: requests for blobs go to the address that the resource manager has.
func TestLookup(t *testing.T) {
	base := map[string]string{
		"use_cli": "false", "tenant_id": "tenant", "client_id": "client", "client_secret": "s", "subscription_id": "sub",
		"resource_group_name": "group", "lookup_blob_endpoint": "true",
	}
	const zone = "https://account.z31.blob.storage.azure.net"
	for name, test := range map[string]struct {
		endpoint string
		values   map[string]string
		want     string
	}{
		"key of the account": {zone + "/", nil, zone + "/states"},
		"given key":          {zone + "/", withKey, zone + "/states"},
		"tokens":             {zone, map[string]string{"use_azuread_auth": "true"}, zone + "/states"},
		"signature":          {zone + "/", map[string]string{"sas_token": "sig=a"}, zone + "/states?sig=a"},
		"not looked up":      {zone + "/", map[string]string{"lookup_blob_endpoint": "false"}, "https://account.blob.core.windows.net/states"},
		"no encryption":      {"http://account.blob.core.windows.net/", nil, `looking up the blob endpoint of the storage account: "http://account.blob.core.windows.net" isn't an https address`},
		"no address":         {"", nil, `looking up the blob endpoint of the storage account: "" isn't an https address`},
		"no subscription":    {zone, map[string]string{"subscription_id": ""}, "looking up the blob endpoint of the storage account: subscription_id isn't set"},
		"no group":           {zone, map[string]string{"resource_group_name": ""}, "lookup_blob_endpoint needs resource_group_name"},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := serve(t)
			server.Endpoint = test.endpoint
			values := maps.Clone(base)
			maps.Copy(values, test.values)
			b, got := made(nil, values)
			if b != nil {
				b.HTTP = client
				if _, err := b.Workspaces(t.Context()); err != nil {
					got = err.Error()
				} else {
					got = b.opened.container
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func who(ctx context.Context, b *Backend, server *testservers.Azure) string {
	if _, err := b.Workspaces(ctx); err != nil {
		return "error: " + err.Error()
	}
	last := ""
	for _, r := range server.Log() {
		last = r.Who
	}
	return last
}

// nowhere is a client whose requests end before they begin.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, nowhere{} }

func (nowhere) Error() string { return "there is no way" }

// NonRetriable has the SDK give up at once.
func (nowhere) NonRetriable() {}

// TestUnreachable: the message has no signature.
func TestUnreachable(t *testing.T) {
	b := opened(t, &http.Client{Transport: nowhere{}}, nil, map[string]string{"sas_token": "sig=secret"})
	_, err := b.Workspaces(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "account.blob.core.windows.net: there is no way") {
		t.Errorf("got %v", err)
	}
}

// TestSilent has a service that stops answering, in each request.
func TestSilent(t *testing.T) {
	server := httptest.NewServer(&testservers.Azure{})
	t.Cleanup(server.Close)
	storagetest.Silent(t, "tcp", server.Listener.Addr().String(), func(t *testing.T, address string) (storage.Backend, func(time.Duration)) {
		b := opened(t, &http.Client{Transport: storagetest.Only{Address: address}}, nil, withKey)
		return b, func(d time.Duration) {
			b.patience = d
			if b.opened != nil {
				b.opened.patience = d
			}
		}
	})
}
