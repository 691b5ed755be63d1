package interop

import (
	"os"
	"testing"
)

// TestExample takes the example of the first page through its commands.
func TestExample(t *testing.T) {
	f := newFolder(t, "")
	if err := os.CopyFS(f.dir, os.DirFS("../../../examples/hello")); err != nil {
		t.Fatal(err)
	}
	f.run(0, "fmt", "-check", "-recursive")
	f.run(0, "init", "-no-color")
	f.run(0, "validate", "-no-color")
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-out=first.plan")
	f.run(0, "apply", "-no-color", "first.plan")
	f.same("rooms", f.run(0, "output", "rooms"), "6\n")
	f.run(0, "plan", "-no-color", "-detailed-exitcode")
	f.run(2, "plan", "-no-color", "-detailed-exitcode", `-var=offices={"harbour"=["Gull"]}`)
	f.run(0, "destroy", "-no-color", "-auto-approve")
	f.same("objects at the end", f.run(0, "state", "list"), "")
}
