package servers

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir.dev/weir/test/acceptance/engine"
)

const apiKey = "for-a-test-only"

// PowerDNS, whose provider is on the first SDK.
func TestPowerDNS(t *testing.T) {
	e := engine.Start(t, "powerdns", provider(t, "pan-net/powerdns", "1.5.0"))
	url := powerdns(t)
	e.Setenv("PDNS_SERVER_URL="+url, "PDNS_API_KEY="+apiKey)
	e.Parallelism = 1 // SQLite rejects a second writer

	e.Write("powerdns")
	e.Run([]string{"init", "-input=false", "-no-color"})
	e.Apply("create")
	e.Settled("created")

	e.Write("powerdns-change")
	e.Apply("change")
	e.Settled("changed")

	ask(t, http.MethodPost, url+"/api/v1/servers/localhost/zones", `{"name": "legacy.test.", "kind": "Native", "nameservers": ["ns.legacy.test."]}`)
	ask(t, http.MethodPatch, url+"/api/v1/servers/localhost/zones/example.test.",
		`{"rrsets": [{"name": "c.example.test.", "type": "A", "changetype": "DELETE"}]}`)
	e.Write("powerdns-drift")
	e.Apply("drift")
	e.Settled("restored")
	e.Apply("destroy", "-destroy")
}

// powerdns starts a server and returns the address of its API.
func powerdns(t *testing.T) (url string) {
	t.Helper()
	server, err := program("pdns_server", "pdns-server, pdns-backend-sqlite3")
	if err != nil {
		t.Skip(err)
	}
	sqlite, err := program("sqlite3", "sqlite3")
	if err != nil {
		t.Skip(err)
	}
	const schema = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
	if !exists(schema) {
		t.Skip("the schema of PowerDNS's database isn't on this machine (Debian: pdns-backend-sqlite3)")
	}
	dir, err := os.MkdirTemp("", "pdns")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	database := filepath.Join(dir, "db")
	if out, err := exec.Command(sqlite, database, ".read "+schema).CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	dns, api := freePort(t), freePort(t)
	settings := []string{
		"launch=gsqlite3", "gsqlite3-database=" + database, "local-address=127.0.0.1", "local-port=" + dns,
		"api=yes", "api-key=" + apiKey, "webserver=yes", "webserver-address=127.0.0.1", "webserver-port=" + api,
		"socket-dir=" + dir, "daemon=no", "guardian=no", "disable-syslog=yes",
	}
	if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(strings.Join(settings, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(server, "--config-dir="+dir)
	log := filepath.Join(dir, "log")
	if cmd.Stderr, err = os.Create(log); err != nil {
		t.Fatal(err)
	}
	start(t, cmd, dir)
	url = "http://127.0.0.1:" + api
	waitFor(t, log, func() bool {
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	return url
}

// freePort is a port that nobody listens at by now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// ask sends a request to PowerDNS behind the engine's back.
func ask(t *testing.T, method, url, body string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", apiKey)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
}
