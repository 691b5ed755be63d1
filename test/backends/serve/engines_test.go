// Package serve tests programs on the states that weir serves over HTTP, and beside weir on the rows
// of the same database.
package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir.dev/weir/internal/state/storage/testservers"
	"weir.dev/weir/test/backends/engines"
)

const password = "a password for these tests"

// serve has weir serve the states of a database until the test ends, and returns the address.
func serve(t *testing.T, rows engines.Place) (address, dir string) {
	t.Helper()
	bin := os.Getenv("IAC_BIN")
	if bin == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	dir = t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(rows.Block("")), 0o600))
	weir := func(args ...string) *exec.Cmd {
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TF_DATA_DIR=", "WEIR_SERVE_PASSWORD="+password)
		cmd.Stderr = t.Output()
		return cmd
	}
	if out, err := weir("init", "-input=false").Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := weir("state", "serve", "-listen=127.0.0.1:0")
	out, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if at := strings.TrimSpace(lines.Text()); strings.HasPrefix(at, "http://") {
				found <- strings.TrimSuffix(at, "/default")
			}
		}
		close(found)
	}()
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	select {
	case at, ok := <-found:
		if !ok {
			t.Fatal("the server has ended")
		}
		return at, dir
	case <-time.After(time.Minute):
		t.Fatal("the server doesn't begin")
	}
	return "", ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clients reach the states at an address, each at its name.
func clients(address, _ string) engines.Place {
	return engines.Place{
		Kind: "http", Only: true,
		Arguments: fmt.Sprintf("    address = \"%[1]s/%%s\"\n    lock_address = \"%[1]s/%%s\"\n    unlock_address = \"%[1]s/%%s\"\n    username = \"ci\"\n    password = %[2]q", address, password),
		Content: func(t *testing.T, name string) []byte {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/"+name, nil)
			must(t, err)
			r.SetBasicAuth("ci", password)
			response, err := http.DefaultClient.Do(r)
			must(t, err)
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			must(t, err)
			return text
		},
	}
}

// sqlite is a database in a file of its own.
func sqlite(t *testing.T) engines.Place {
	return engines.Place{Kind: "database", Arguments: fmt.Sprintf("    url = %q", "sqlite:"+filepath.Join(t.TempDir(), "states.db"))}
}

// TestEngines has both programs use the server.
func TestEngines(t *testing.T) { engines.Run(t, clients(serve(t, sqlite(t)))) }

// TestRows has what the other program applied be rows.
func TestRows(t *testing.T) {
	address, rows := serve(t, sqlite(t))
	other := os.Getenv("PEER")
	if other == "" {
		other = os.Getenv("IAC_BIN")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(clients(address, rows).Block("default")+"resource \"terraform_data\" \"a\" {}\n"), 0o600))
	run := func(dir, bin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "TF_DATA_DIR="), t.Output()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", bin, args, err, out)
		}
		return string(out)
	}
	run(dir, other, "init", "-input=false")
	run(dir, other, "apply", "-input=false", "-auto-approve")
	if out := run(rows, os.Getenv("IAC_BIN"), "state", "query", "SELECT address FROM resources"); !strings.Contains(out, "terraform_data.a") {
		t.Errorf("the database has %s", out)
	}
}

// TestBesideRows has weir on the rows and the other program at the server exclude each other.
func TestBesideRows(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		engines.Beside(t, func(t *testing.T) (mine, others engines.Place) {
			rows := sqlite(t)
			return rows, clients(serve(t, rows))
		})
	})
	t.Run("postgres", func(t *testing.T) {
		server, stop, err := testservers.Postgres()
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(stop)
		at := "postgres:///postgres?" + strings.NewReplacer(" ", "&", "dbname=postgres", "").Replace(server)
		schemas := 0
		engines.Beside(t, func(t *testing.T) (mine, others engines.Place) {
			schemas++
			rows := engines.Place{Kind: "database", Arguments: fmt.Sprintf("    url = %q\n    schema = \"s%d\"", at, schemas)}
			return rows, clients(serve(t, rows))
		})
	})
}
