//go:build unix

package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir.dev/weir/internal/state/storage/testservers"
)

// places make backend blocks for each type of backend with a lock, each for a
// place of its own on servers that were started for the test.
func places(t *testing.T) map[string]func(t *testing.T) string {
	t.Helper()
	all := map[string]func(t *testing.T) string{
		"local": func(*testing.T) string { return "" },
		"http": func(t *testing.T) string {
			web := httptest.NewServer(&testservers.HTTP{Tags: true})
			t.Cleanup(web.Close)
			return fmt.Sprintf("backend \"http\" {\n    address = %q\n    lock_address = %q\n    unlock_address = %q\n  }", web.URL, web.URL, web.URL)
		},
	}
	all["sqlite"] = func(t *testing.T) string {
		return fmt.Sprintf("backend \"database\" {\n    url = \"sqlite:%s\"\n  }", filepath.Join(t.TempDir(), "states.db"))
	}
	at, stop, err := testservers.Postgres()
	if err != nil {
		t.Log("without a PostgreSQL: ", err)
		return all
	}
	t.Cleanup(stop)
	var schemas atomic.Int32
	all["pg"] = func(*testing.T) string {
		return fmt.Sprintf("backend \"pg\" {\n    conn_str = %q\n    schema_name = \"s%d\"\n  }", at, schemas.Add(1))
	}
	all["postgres"] = func(*testing.T) string {
		return fmt.Sprintf("backend \"database\" {\n    url = \"postgres:///postgres?%s\"\n    schema = \"d%d\"\n  }", strings.NewReplacer(" ", "&", "dbname=postgres", "").Replace(at), schemas.Add(1))
	}
	return all
}

// TestSeveralRuns has several runs work on one state, on every backend.
func TestSeveralRuns(t *testing.T) {
	for name, place := range places(t) {
		for what, test := range map[string]func(t *testing.T, name, backend string){
			"two applies": twoApplies, "a lock that isn't respected": fence, "a holder that is killed": killedHolder,
			"a holder whose journal is gone": lostJournal,
		} {
			if what == "a holder whose journal is gone" && name != "http" {
				continue // local journals aren't in the data directory, and PostgreSQL releases the locks of the dead
			}
			if what == "a lock that isn't respected" && name == "sqlite" {
				continue // all directories share the journal, which keeps the second run out
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				test(t, name, place(t))
			})
		}
	}
}

// A site is a working directory whose one object takes as long to make as
// there is a file named "go" missing.
type site struct{ run }

func newSite(t *testing.T, backend string) *site {
	s := &site{run{t: t, dir: t.TempDir(), reattach: "{}"}}
	text := `terraform {
  ` + backend + `
}
variable "v" {}
resource "terraform_data" "a" {
  triggers_replace = var.v
  provisioner "local-exec" {
    command = "echo ${var.v} >> ran; while [ ! -e go ]; do sleep 0.05; done"
  }
}
`
	if err := os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("init", "-no-color")
	return s
}

// begin starts an apply in the background.
func (s *site) begin(v string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"apply", "-auto-approve", "-no-color", "-input=false", "-var=v=" + v}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), roleEnv+"=1", "TF_IN_AUTOMATION=1", "TF_DATA_DIR="+filepath.Join(s.dir, "data"))
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// ran are the values of v for which something was done, waiting for so many.
func (s *site) ran(n int) []string {
	s.t.Helper()
	for range 400 {
		text, _ := os.ReadFile(filepath.Join(s.dir, "ran"))
		if list := strings.Fields(string(text)); len(list) >= n {
			return list
		}
		time.Sleep(25 * time.Millisecond)
	}
	s.t.Fatal("nothing happens")
	return nil
}

func (s *site) release() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// stored are the serial and the value of v that the state has.
func (s *site) stored() (uint64, string) {
	s.t.Helper()
	var content struct {
		Serial    uint64
		Resources []struct {
			Instances []struct {
				Attributes struct {
					Trigger struct{ Value string } `json:"triggers_replace"`
				}
			}
		}
	}
	text, err := s.weir(nil, "state", "pull", "-var=v=x")
	if err != nil || json.Unmarshal([]byte(text), &content) != nil || len(content.Resources) == 0 {
		s.t.Fatalf("%v\n%s", err, text)
	}
	return content.Serial, content.Resources[0].Instances[0].Attributes.Trigger.Value
}

// twoApplies has one apply win, one rejected and one that waits.
func twoApplies(t *testing.T, _, backend string) {
	s := newSite(t, backend)
	first, out := s.begin("1")
	s.ran(1)
	second, err := s.weir(nil, "apply", "-auto-approve", "-no-color", "-var=v=2")
	if err == nil || !strings.Contains(second, "Error acquiring the state lock") || !strings.Contains(second, "Operation: apply") {
		t.Errorf("not refused: %v\n%s", err, second)
	}
	third, waiting := s.begin("3", "-lock-timeout=60s")
	time.Sleep(300 * time.Millisecond)
	s.release()
	if err := first.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := third.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, waiting)
	}
	if got := strings.Join(s.ran(2), " "); got != "1 3" {
		t.Errorf("ran: %s", got)
	}
	if serial, v := s.stored(); serial != 2 || v != "3" {
		t.Errorf("serial %d has %s", serial, v)
	}
}

// fence has an apply that doesn't care about the lock: what it writes isn't
// written over, and nothing is lost.
func fence(t *testing.T, name, backend string) {
	s := newSite(t, backend)
	other := newSite(t, backend)
	if name == "local" {
		if err := os.Symlink(filepath.Join(s.dir, "terraform.tfstate"), filepath.Join(other.dir, "terraform.tfstate")); err != nil {
			t.Fatal(err)
		}
	}
	other.release()
	other.must("apply", "-auto-approve", "-no-color", "-var=v=0")
	first, out := s.begin("1")
	s.ran(1)
	time.Sleep(500 * time.Millisecond) // it has saved what it knows
	if name == "http" {                // whose server holds the address to the lock
		other.must("force-unlock", "-force", "-var=v=0", lockID(t, other))
	}
	other.must("apply", "-auto-approve", "-no-color", "-var=v=2", "-lock=false")
	serial, v := other.stored()
	if v != "2" {
		t.Fatalf("the state has %s", v)
	}
	s.release()
	if err := first.Wait(); err == nil || !strings.Contains(out.String(), "Somebody else has written the state") {
		t.Errorf("%v\n%s", err, out)
	}
	if now, v := other.stored(); now != serial || v != "2" {
		t.Errorf("serial %d, which had 2, became %d with %s", serial, now, v)
	}
	if rescued, err := os.ReadFile(filepath.Join(s.dir, "errored.tfstate")); err != nil || !bytes.Contains(rescued, []byte(`"1"`)) {
		t.Errorf("what was done is lost: %v\n%s", err, rescued)
	}
}

// lockID reads the id of a lock from the message of who is rejected.
func lockID(t *testing.T, s *site) string {
	t.Helper()
	out, _ := s.weir(nil, "plan", "-no-color", "-var=v=0")
	_, rest, ok := strings.Cut(out, "ID:")
	if !ok {
		t.Fatalf("nobody holds the lock:\n%s", out)
	}
	return strings.Fields(rest)[0]
}

// killedHolder kills an apply: the next one works without a person.
func killedHolder(t *testing.T, name, backend string) {
	s := newSite(t, backend)
	first, _ := s.begin("1")
	s.ran(1)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	s.release()
	out := s.must("apply", "-auto-approve", "-no-color", "-var=v=1", "-lock-timeout=10s")
	if taken := strings.Contains(out, "Warning: Lock taken over"); taken != (name != "local" && name != "pg") {
		t.Errorf("taken over: %v\n%s", taken, out)
	}
	if _, v := s.stored(); v != "1" {
		t.Errorf("the state has %s", v)
	}
	s.must("apply", "-auto-approve", "-no-color", "-var=v=1")
}

// lostJournal kills an apply and removes its data directory: where the state is
// elsewhere and still locked, nothing is made before somebody has looked.
func lostJournal(t *testing.T, _, backend string) {
	s := newSite(t, backend)
	first, _ := s.begin("1")
	s.ran(1)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	s.release()
	if err := os.RemoveAll(filepath.Join(s.dir, "data")); err != nil {
		t.Fatal(err)
	}
	s.must("init", "-no-color")
	out, err := s.weir(nil, "apply", "-auto-approve", "-no-color", "-var=v=1")
	if err == nil || !strings.Contains(out, "The run that holds the lock has ended without releasing it") {
		t.Fatalf("not refused: %v\n%s", err, out)
	}
	if got := len(s.ran(1)); got != 1 {
		t.Errorf("made %d times", got)
	}
	_, rest, _ := strings.Cut(out, "weir force-unlock ")
	s.must("force-unlock", "-force", strings.Fields(rest)[0])
	s.must("apply", "-auto-approve", "-no-color", "-var=v=1")
}
