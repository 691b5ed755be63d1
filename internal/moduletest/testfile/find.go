package testfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/dialect"
	"weir.dev/weir/internal/lang/module"
	"weir.dev/weir/internal/lang/syntax"
)

// extensions are those of test files. A file of the first two takes the place
// of one with the same name and the other extension, where they are read.
var extensions = []string{".tofutest.hcl", ".tofutest.json", ".tofutest.hcl.json", ".tftest.hcl", ".tftest.json", ".tftest.hcl.json"}

func extension(name string) string {
	for _, ext := range extensions {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// IsName reports whether a file is named as test files and files of mocks are.
func IsName(name string) bool { return extension(name) != "" || mockExtension(name) != "" }

func mockExtension(name string) string {
	for _, ext := range []string{".tofumock.hcl", ".tofumock.json", ".tofumock.hcl.json", ".tfmock.hcl", ".tfmock.json", ".tfmock.hcl.json"} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// Find lists the test files of a module by their paths from its directory: those
// beside the configuration, and those in the directory of tests.
func Find(files module.Files, dir, tests string, d dialect.Dialect) []string {
	var list []string
	for _, sub := range []string{"", filepath.ToSlash(filepath.Clean(tests))} {
		if sub == "." {
			continue
		}
		names, err := files.List(filepath.Join(dir, filepath.FromSlash(sub)))
		if err != nil {
			continue // none exist
		}
		for _, name := range sift(names, extension, d) {
			list = append(list, path.Join(sub, name))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// sift chooses the files that have an extension, and of those that differ in tf
// and tofu only the latter.
func sift(names []string, extension func(string) string, d dialect.Dialect) []string {
	var list []string
	for _, name := range names {
		ext := extension(name)
		switch {
		case ext == "", strings.HasPrefix(name, "."), strings.HasSuffix(name, "~"):
		case strings.HasPrefix(ext, ".tofu") && !d.TofuFiles():
		case strings.HasPrefix(ext, ".tf") && d.TofuFiles() && slices.Contains(names, strings.TrimSuffix(name, ext)+strings.Replace(ext, ".tf", ".tofu", 1)):
		default:
			list = append(list, name)
		}
	}
	return list
}

// DefaultDirectory is where tests are unless another directory is named. It needn't
// be there.
const DefaultDirectory = "tests"

// CheckDirectory says whether a directory of tests may be named so: it is inside
// of the module.
func CheckDirectory(tests string) diag.List {
	var diags diag.List
	if clean := filepath.Clean(tests); filepath.IsAbs(tests) || clean == ".." || strings.HasPrefix(clean, ".."+string(filepath.Separator)) {
		diags.Add(diag.Unreadable.As("Invalid testing directory").New(diag.Error, "Testing directories must be inside the module's directory, and %q isn't.", tests))
	}
	return diags
}

// Load reads and checks the test files of a module.
func Load(files module.Files, dir, tests string, d dialect.Dialect) ([]*File, diag.List) {
	diags := CheckDirectory(tests)
	if diags.HasErrors() {
		return nil, diags
	}
	if _, err := files.List(filepath.Join(dir, tests)); errors.Is(err, fs.ErrNotExist) && filepath.Clean(tests) != DefaultDirectory {
		diags.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.NoConfiguration.Name, Summary: "Test directory does not exist", Detail: fmt.Sprintf("There is no directory %s for tests in the module's directory.", tests)})
	}
	var list []*File
	for _, name := range Find(files, dir, tests, d) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		data, err := files.ReadFile(at)
		if err != nil {
			diags.Add(diag.Unreadable.As("Failed to read test file").New(diag.Error, "The test file %q could not be read: %s.", at, err))
			continue
		}
		source, more := syntax.Parse(at, data)
		diags.Append(more)
		if source == nil || more.HasErrors() {
			continue
		}
		f, more := decode(source, d)
		diags.Append(more)
		f.Name = name
		for _, p := range f.Providers {
			if p.Mock != nil && p.Mock.Source != "" {
				diags.Append(p.Mock.read(files, dir, d))
			}
		}
		list = append(list, f)
	}
	return list, diags
}

// read adds what the files in the mock's directory say. The test file's own settings win.
func (m *Mock) read(files module.Files, dir string, d dialect.Dialect) diag.List {
	var diags diag.List
	source := filepath.Join(dir, filepath.FromSlash(m.Source))
	names, err := files.List(source)
	if err != nil {
		diags.Add(diag.Unreadable.As("Failed to read mock directory").Error(m.SourceRange, "The directory %s of this mocked provider does not exist or cannot be read.", source))
		return diags
	}
	for _, name := range sift(names, mockExtension, d) {
		at := filepath.Join(source, name)
		data, err := files.ReadFile(at)
		if err != nil {
			diags.Add(diag.Unreadable.As("Failed to read mock file").Error(m.SourceRange, "The file %q could not be read: %s.", at, err))
			continue
		}
		parsed, more := syntax.Parse(at, data)
		diags.Append(more)
		if parsed == nil || more.HasErrors() {
			continue
		}
		r := reader{dialect: d, source: parsed}
		more2 := Mock{}
		content := r.content(parsed.Body, mockFileSchema())
		for _, b := range content.Blocks {
			r.mocking(&more2, b)
		}
		diags.Append(r.diags)
		m.add(more2)
	}
	return diags
}

func (m *Mock) add(other Mock) {
	for _, r := range other.Resources {
		if !slices.ContainsFunc(m.Resources, func(own *Mocked) bool { return own.Mode == r.Mode && own.Type == r.Type }) {
			m.Resources = append(m.Resources, r)
		}
	}
	for _, o := range other.Overrides {
		if !slices.ContainsFunc(m.Overrides, func(own *Override) bool { return own.Target.String() == o.Target.String() }) {
			m.Overrides = append(m.Overrides, o)
		}
	}
}

// Choose are the files of given names, or all of them without.
func Choose(files []*File, filter []string) ([]*File, diag.List) {
	if len(filter) == 0 {
		return files, nil
	}
	var diags diag.List
	var chosen []*File
	for _, name := range filter {
		n := slices.IndexFunc(files, func(f *File) bool { return f.Name == filepath.ToSlash(filepath.Clean(name)) })
		switch {
		case n < 0:
			diags.Append(diag.NoConfiguration.As("Unknown test file").Warnings("The specified test file, %s, could not be found.", name))
		case !slices.Contains(chosen, files[n]):
			chosen = append(chosen, files[n])
		}
	}
	if len(chosen) == 0 {
		diags.Append(diag.NoConfiguration.As("No tests were found").Warnings("-filter is being used but no tests were found. Make sure you're using a relative path to the current working directory."))
	}
	slices.SortFunc(chosen, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return chosen, diags
}
