package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sixProviders uses both generations of the provider SDK, data that depend on
// resources, and objects on disk that a test can look at.
const sixProviders = `
variable "title" {
  default = "first"
}

variable "bits" {
  default = 3
}

resource "random_pet" "name" {
  keepers = { title = var.title }
}

resource "time_static" "start" {
  rfc3339 = "2030-01-02T03:04:05Z"
}

resource "tls_private_key" "key" {
  algorithm = "ED25519"
}

resource "tls_cert_request" "request" {
  private_key_pem = tls_private_key.key.private_key_pem
  subject {
    common_name = random_pet.name.id
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "local_file" "page" {
  for_each = toset([for n in range(var.bits) : tostring(n)])
  filename = "${path.module}/out/${each.key}.txt"
  content  = "${var.title} page ${each.key} since ${time_static.start.year}\n"
}

data "archive_file" "book" {
  type        = "zip"
  output_path = "${path.module}/out/book.zip"

  dynamic "source" {
    for_each = local_file.page
    content {
      filename = "${source.key}.txt"
      content  = source.value.content
    }
  }
}

resource "null_resource" "reader" {
  triggers = {
    book = data.archive_file.book.output_sha
  }
}

resource "null_resource" "shelf" {
  lifecycle {
    replace_triggered_by = [null_resource.reader]
  }
}

output "subject" {
  value = tls_cert_request.request.subject[0].common_name
}

output "pages" {
  value = sort([for p in local_file.page : basename(p.filename)])
}
`

func (f folder) names(dir string) string {
	f.t.Helper()
	paths, err := filepath.Glob(filepath.Join(f.dir, dir, "*"))
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return strings.Join(paths, " ")
}

// TestRealProviders takes one configuration through its life.
func TestRealProviders(t *testing.T) {
	f := newFolder(t, mirror(t))
	f.write("main.tf", sixProviders)
	f.run(0, "init", "-no-color")
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-out=tfplan")
	f.same("changes at first", f.changes("tfplan", false), `data.archive_file.book read read_because_dependency_pending
local_file.page["0"] create
local_file.page["1"] create
local_file.page["2"] create
null_resource.reader create
null_resource.shelf create
random_pet.name create
time_static.start create
tls_cert_request.request create
tls_private_key.key create
`)
	f.run(0, "apply", "-no-color", "tfplan")
	f.same("files", f.names("out"), "0.txt 1.txt 2.txt book.zip")
	f.same("a file", f.read("out/0.txt"), "first page 0 since 2030\n")
	f.same("pages", f.run(0, "output", "-json", "pages"), `["0.txt","1.txt","2.txt"]`+"\n")
	f.run(0, "plan", "-no-color", "-detailed-exitcode")

	// Fewer pages: one is destroyed, and what was made of them is made again.
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-var=bits=2", "-out=tfplan")
	f.same("changes for fewer pages", f.changes("tfplan", false), `data.archive_file.book read read_because_dependency_pending
local_file.page["2"] delete delete_because_each_key
null_resource.reader delete+create replace_because_cannot_update
null_resource.shelf delete+create replace_by_triggers
`)
	f.run(0, "apply", "-no-color", "tfplan")
	f.same("files afterwards", f.names("out"), "0.txt 1.txt book.zip")
	f.run(0, "plan", "-no-color", "-detailed-exitcode", "-var=bits=2")

	// Another title replaces what has it, and the request for the new name.
	f.run(2, "plan", "-no-color", "-detailed-exitcode", "-var=bits=2", "-var=title=second", "-out=tfplan")
	f.run(0, "apply", "-no-color", "tfplan")
	f.same("the file with another title", f.read("out/0.txt"), "second page 0 since 2030\n")
	f.same("the subject", f.run(0, "output", "-raw", "subject"), attribute(f, "random_pet.name", "id"))

	// A deleted object is noticed and created again; requested replacements happen.
	if err := os.Remove(filepath.Join(f.dir, "out/1.txt")); err != nil {
		t.Fatal(err)
	}
	again := []string{"-var=bits=2", "-var=title=second"}
	f.run(2, append([]string{"plan", "-no-color", "-detailed-exitcode", "-out=tfplan", "-replace=time_static.start", "-target=local_file.page"}, again...)...)
	f.same("changes of targets", f.changes("tfplan", false), `local_file.page["1"] create
time_static.start delete+create replace_by_request
`)
	f.run(0, "apply", "-no-color", "tfplan")
	f.run(0, append([]string{"plan", "-no-color", "-detailed-exitcode"}, again...)...)

	f.run(0, append([]string{"destroy", "-no-color", "-auto-approve"}, again...)...)
	f.same("files at the end", f.names("out"), "book.zip")
	f.same("objects at the end", f.run(0, "state", "list"), "")
}

// attribute is a text of an object in the state.
func attribute(f folder, address, name string) string {
	f.t.Helper()
	for line := range strings.Lines(f.run(0, "state", "show", "-no-color", address)) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == name {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	f.t.Fatalf("%s has no %s", address, name)
	return ""
}
