package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// peerState is a copy of a recorded folder, initialized.
func peerState(t *testing.T, name string) folder {
	t.Helper()
	f := newFolder(t, mirror(t))
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join("../../../testdata/peer-state", name))); err != nil {
		t.Fatal(err)
	}
	locks := f.read(".terraform.lock.hcl")
	f.run(0, "init", "-no-color")
	f.same("the lock file", f.read(".terraform.lock.hcl"), locks)
	return f
}

// A state that the reference left complete needs nothing done.
func TestPeerStateComplete(t *testing.T) {
	f := peerState(t, "complete")
	before := f.read("terraform.tfstate")
	f.run(0, "plan", "-no-color", "-detailed-exitcode")
	f.same("the state after a plan", f.read("terraform.tfstate"), before)
	f.same("state list", f.run(0, "state", "list"), f.read("state-list.txt"))

	var got, want map[string]any
	if err := json.Unmarshal([]byte(f.run(0, "show", "-json")), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(f.read("show.json")), &want); err != nil {
		t.Fatal(err)
	}
	if !forgetRepeated(got["values"]) {
		t.Error("show -json doesn't mark the secret that terraform_data repeats in its output")
	}
	for _, part := range []string{"format_version", "values", "checks"} {
		if !reflect.DeepEqual(got[part], want[part]) {
			t.Errorf("show -json: %q differs:\n--- got\n%s\n--- want\n%s", part, indented(got[part]), indented(want[part]))
		}
	}

	f.run(0, "apply", "-no-color", "-auto-approve")
	f.same("state list after an apply", f.run(0, "state", "list"), f.read("state-list.txt"))
	f.run(0, "plan", "-no-color", "-detailed-exitcode")
	f.run(0, "destroy", "-no-color", "-auto-approve")
	f.same("state list after destroying", f.run(0, "state", "list"), "")
}

// forgetRepeated removes the mark of a secret in what terraform_data repeats of its input, which
// only weir has, and reports whether there was one.
func forgetRepeated(v any) (found bool) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			found = forgetRepeated(element) || found
		}
	case map[string]any:
		if masks, ok := v["sensitive_values"].(map[string]any); ok && v["type"] == "terraform_data" {
			if output, ok := masks["output"].(map[string]any); ok && output["key"] == true {
				delete(output, "key")
				return true
			}
		}
		for _, member := range v {
			found = forgetRepeated(member) || found
		}
	}
	return found
}

func indented(v any) []byte {
	text, _ := json.MarshalIndent(v, "", "  ") // it was JSON before
	return text
}

// A state with a tainted and a deposed object is carried on with.
func TestPeerStateInterrupted(t *testing.T) {
	f := peerState(t, "interrupted")
	f.same("state list", f.run(0, "state", "list"), f.read("state-list.txt"))
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-var=step=2", "-out=tfplan")
	f.same("changes", f.changes("tfplan", true), f.read("changes.txt"))

	// The provisioner fails again, as it does for the reference. Anything that was deposed
	// stays until the objects that were made with it have been replaced.
	f.run(1, "apply", "-no-color", "tfplan")
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-var=step=2", "-out=tfplan")
	f.same("changes after an apply", f.changes("tfplan", true), f.read("changes.txt"))
}
