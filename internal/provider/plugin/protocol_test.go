package plugin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"weir.dev/weir/internal/provider/plugin/tfplugin5"
	"weir.dev/weir/internal/provider/plugin/tfplugin6"
)

const protocolList = "../../../docs/proofs/protocol.txt"

// TestProtocol: every call and every field of the provider protocols is used by this package, or
// docs/proofs/protocol.txt has the reason why it isn't. A field is used where its name is: the
// test doesn't tell fields of one name apart.
func TestProtocol(t *testing.T) {
	listed := readProtocolList(t)
	used := usedNames(t)
	own := map[string]bool{}
	for _, file := range []protoreflect.FileDescriptor{tfplugin5.File_tfplugin5_proto, tfplugin6.File_tfplugin6_proto} {
		for name, goName := range members(file) {
			own[name] = true
			// Protocol 5 is translated from 6, with the same messages under other names.
			known := listed[name] != "" || listed[before(name)] != ""
			if !known && !used[goName] && file.Package() == "tfplugin6" {
				t.Errorf("nothing uses %s: use it, or say why not in docs/proofs/protocol.txt", name)
			}
			if reason := listed[name]; reason != "" && used[goName] {
				t.Errorf("%s is used, and docs/proofs/protocol.txt says that it isn't: %s", name, reason)
			}
		}
	}
	// Where the newest protocol files are known, what weir lacks of them is listed too.
	newest := os.Getenv("PROTOCOL_FILES")
	if newest == "" {
		return
	}
	for _, name := range []string{"tfplugin5.proto", "tfplugin6.proto"} {
		data, err := os.ReadFile(filepath.Join(newest, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, element := range elements(string(data)) {
			if !own[element] && listed[element] == "" && listed[before(element)] == "" {
				t.Errorf("%s has %s: use it, or say why not in docs/proofs/protocol.txt", name, element)
			}
		}
	}
}

// before is the message that a field belongs to.
func before(element string) string {
	message, _, _ := strings.Cut(element, ".")
	return message
}

func readProtocolList(t *testing.T) map[string]string {
	data, err := os.ReadFile(protocolList)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || reason == "" {
			t.Errorf("no reason: %s", line)
		}
		listed[name] = reason
	}
	return listed
}

// members are the calls and fields of a protocol, with the names that Go code has for them.
func members(file protoreflect.FileDescriptor) map[string]string {
	all := map[string]string{}
	methods := file.Services().Get(0).Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		all[name] = name
	}
	var walk func(list protoreflect.MessageDescriptors)
	walk = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			m := list.Get(i)
			if m.IsMapEntry() {
				continue
			}
			fields := m.Fields()
			for j := range fields.Len() {
				name := strings.TrimPrefix(string(m.FullName()), string(file.Package())+".") + "." + string(fields.Get(j).Name())
				all[name] = camel(string(fields.Get(j).Name()))
			}
			walk(m.Messages())
		}
	}
	walk(file.Messages())
	return all
}

// camel is the name of a field in generated code.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// usedNames are the names that the package's code reads, sets or calls.
func usedNames(t *testing.T) map[string]bool {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".pb.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				used[strings.TrimPrefix(n.Sel.Name, "Get")], used[n.Sel.Name] = true, true
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					used[key.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return used
}

var (
	comment = regexp.MustCompile(`//[^\n]*`)
	piece   = regexp.MustCompile(`rpc (\w+)|(?:message|enum|oneof|service) (\w+) *\{|(\w+) *= *\d+|[{}]`)
)

// elements are the calls and fields that a protocol file has.
func elements(text string) []string {
	type scope struct {
		name string
		kind string
	}
	found := map[string]bool{}
	var in []scope
	for _, m := range piece.FindAllStringSubmatch(comment.ReplaceAllString(text, ""), -1) {
		switch {
		case m[1] != "":
			found[m[1]] = true
		case m[2] != "":
			kind, _, _ := strings.Cut(m[0], " ")
			in = append(in, scope{m[2], kind})
		case m[0] == "{":
			in = append(in, scope{})
		case m[0] == "}":
			if len(in) > 0 {
				in = in[:len(in)-1]
			}
		case len(in) > 0 && in[len(in)-1].kind != "enum":
			var path []string
			for _, s := range in {
				if s.kind == "message" {
					path = append(path, s.name)
				}
			}
			if len(path) > 0 {
				found[strings.Join(append(path, m[3]), ".")] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestProtocolElements(t *testing.T) {
	got := elements("message A {\n  // x = 9;\n  message B { string c = 1; }\n  enum E { F = 0; }\n  oneof g { B h = 2; }\n}\nservice P {\n  rpc Do(A.B) returns (A);\n}\n")
	if want := []string{"A.B.c", "A.h", "Do"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
