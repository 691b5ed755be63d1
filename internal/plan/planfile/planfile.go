// Package planfile writes and reads saved plans: a zip archive with everything that an apply
// or a rendering of the plan needs.
//
// It owns the layout of the archive, its guard against damage and the encoding of plans. It
// rejects plans of other programs and of other versions of the format, knows no backends and
// decides nothing about a plan.
package planfile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/metrics"
	"weir.dev/weir/internal/lang/fsfuncs"
	"weir.dev/weir/internal/lang/program"
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/sys/durable"
)

// format is the version of the archive's layout. Readers reject others.
const format = 2

// maxContent bounds what all entries together may unpack to, so that a hostile archive
// can't exhaust memory by its compression alone. A plan of 100,000 objects has a tenth
// of it.
const maxContent = 2 << 30

// Content is what a plan file holds.
type Content struct {
	// Engine is the version that wrote the file; Read rejects no version, as long as the
	// format is the same.
	Engine string
	Plan   *plan.Plan

	// Files are the configuration's files by the names that source ranges
	// have, variables files and modules.json left out.
	Files map[string][]byte
	// Modules is the record of installed modules, as modules.json has it.
	Modules []byte
	// Read is what expressions learned of files, and WorkDir what path.cwd was.
	Read    fsfuncs.Record
	WorkDir string
	// Lock is the dependency lock file, empty when there was none.
	Lock []byte

	Backend Backend

	// Tree is what the configuration says. It is used when writing, to keep
	// the schemas it needs and drop others, and isn't in the file.
	Tree *program.Tree
}

// A Backend is where the state that the plan was made for is kept, and which
// state that was: a plan is stale once lineage or serial differ.
type Backend struct {
	Type      string          `json:"type"`
	Config    json.RawMessage `json:"config,omitempty"`
	Workspace string          `json:"workspace"`
	Lineage   string          `json:"lineage,omitempty"`
	Serial    uint64          `json:"serial,omitempty"`
}

type header struct {
	Format  int     `json:"format"`
	Engine  string  `json:"engine"`
	Backend Backend `json:"backend"`
}

// surroundings are the entry about files.
type surroundings struct {
	WorkDir string                    `json:"work_dir"`
	Answers map[string]fsfuncs.Answer `json:"answers,omitempty"`
}

// The entries of the archive. The digest comes last and covers the others.
const (
	entryHeader    = "weir.json"
	entryPlan      = "plan"
	entryPrevious  = "state-previous"
	entryRefreshed = "state-refreshed"
	entrySchemas   = "schemas.json"
	entryModules   = "modules.json"
	entryLock      = ".terraform.lock.hcl"
	entryDigest    = "digest"
	entryFiles     = "files.json"
	configPrefix   = "config/"
	contentPrefix  = "files/"
)

// Is reports whether a file that begins with the given bytes is an archive and
// thus a plan file rather than a state.
func Is(start []byte) bool { return bytes.HasPrefix(start, []byte("PK\x03\x04")) }

// Write saves a plan so that either the old or the new file is there whatever
// happens, readable for its owner only. seal, unless nil, encrypts the bytes.
func Write(path string, c Content, seal func([]byte) ([]byte, error)) error {
	data, err := Encode(c)
	if err != nil {
		return err
	}
	if seal != nil {
		if data, err = seal(data); err != nil {
			return err
		}
	}
	if special(path) {
		return os.WriteFile(path, data, 0o600)
	}
	metrics.PlanBytes.Add(len(data))
	return durable.Replace(path, data, 0o600)
}

// special reports whether there is something that can be written to, but not
// replaced: a device such as the null device, or a pipe.
func special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// Read reads the bytes of the saved plan that was at a path. open, unless nil, decrypts
// them.
func Read(data []byte, path string, open func([]byte) ([]byte, error)) (Content, diag.List) {
	var diags diag.List
	var err error
	if open != nil {
		if data, err = open(data); err != nil {
			diags.Add(Unreadable.As(fmt.Sprintf("Failed to load %q as a plan file", path)).New(diag.Error, "Error: %s.", err))
			return Content{}, diags
		}
	}
	c, err := Decode(data)
	if err != nil {
		diags.Add(Unreadable.As(fmt.Sprintf("Failed to load %q as a plan file", path)).New(diag.Error, "%s. Make the plan again.", err))
		return Content{}, diags
	}
	return c, nil
}

// Encode makes the bytes of a plan file. The same content makes the same bytes.
func Encode(c Content) ([]byte, error) {
	if c.Plan == nil {
		return nil, errors.New("there is no plan to save")
	}
	entries, err := encodeEntries(c)
	if err != nil {
		return nil, fmt.Errorf("saving the plan: %w", err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, content pages) error {
		file, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		for n := 0; n < len(content) && err == nil; n++ {
			_, err = file.Write(content[n])
		}
		return err
	}
	names := order(entries)
	for _, name := range names {
		if err := add(name, entries[name]); err != nil {
			return nil, err
		}
	}
	sum := digest(names, func(name string) pages { return entries[name] })
	if err := add(entryDigest, pages{[]byte(sum)}); err != nil {
		return nil, err
	}
	if err := w.SetComment(strings.Repeat("0", sealLength)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	data := b.Bytes()
	copy(data[len(data)-sealLength:], sealOf(data))
	return data, nil
}

// sealLength is the length of the archive's comment, which ends the file.
const sealLength = 2 * sha256.Size

// sealOf is the comment that a file has to end with: a hash of all bytes before,
// of which some have no meaning for the entries.
func sealOf(data []byte) string {
	sum := sha256.Sum256(data[:len(data)-sealLength])
	return hex.EncodeToString(sum[:])
}

// order sorts the names of entries, the header first.
func order[T any](entries map[string]T) []string {
	return slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		if (a == entryHeader) != (b == entryHeader) {
			if a == entryHeader {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// digest is a hash of names and contents that has one reading only.
func digest(names []string, content func(name string) pages) string {
	h := sha256.New()
	for _, name := range names {
		of := content(name)
		fmt.Fprintf(h, "%d:%s%d:", len(name), name, of.size())
		for _, page := range of {
			h.Write(page)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func encodeEntries(c Content) (map[string]pages, error) {
	entries := map[string]pages{}
	for name, data := range c.Files {
		entries[configPrefix+name] = pages{data}
	}
	if len(c.Modules) > 0 {
		entries[entryModules] = pages{c.Modules}
	}
	if len(c.Lock) > 0 {
		entries[entryLock] = pages{c.Lock}
	}
	for hash, content := range c.Read.Contents {
		entries[contentPrefix+hash] = pages{content}
	}
	var err error
	add := func(name string, encode func() ([]byte, error)) {
		if err == nil {
			var data []byte
			data, err = encode()
			entries[name] = pages{data}
		}
	}
	add(entryFiles, func() ([]byte, error) { return json.Marshal(surroundings{c.WorkDir, c.Read.Answers}) })
	add(entryHeader, func() ([]byte, error) { return json.Marshal(header{format, c.Engine, c.Backend}) })
	add(entrySchemas, func() ([]byte, error) { return encodeSchemas(c.Plan.Schemas, namesInUse(c.Plan, c.Tree)) })
	add(entryPrevious, func() ([]byte, error) { return encodeState(c.Plan.Previous) })
	add(entryRefreshed, func() ([]byte, error) { return encodeState(c.Plan.Refreshed) })
	if err == nil {
		entries[entryPlan], err = encodePlan(c.Plan)
	}
	return entries, err
}

// Decode reads the bytes of a plan file.
func Decode(data []byte) (Content, error) {
	entries, err := unpack(data)
	if err != nil {
		return Content{}, err
	}
	var h header
	if err := json.Unmarshal(entries[entryHeader], &h); err != nil {
		return Content{}, fmt.Errorf("the plan file's header can't be read: %w", err)
	}
	if h.Format != format {
		return Content{}, fmt.Errorf("the plan file has format %d, written by version %s, while this version reads format %d", h.Format, h.Engine, format)
	}
	c := Content{
		Engine:  h.Engine,
		Backend: h.Backend,
		Modules: entries[entryModules],
		Lock:    entries[entryLock],
		Files:   map[string][]byte{},
		Read:    fsfuncs.Record{Contents: map[string][]byte{}},
	}
	for name, data := range entries {
		if file, ok := strings.CutPrefix(name, configPrefix); ok {
			c.Files[file] = data
		}
		if hash, ok := strings.CutPrefix(name, contentPrefix); ok {
			c.Read.Contents[hash] = data
		}
	}
	s := surroundings{}
	if err := json.Unmarshal(entries[entryFiles], &s); err != nil {
		return Content{}, fmt.Errorf("the plan's record of files can't be read: %w", err)
	}
	c.WorkDir, c.Read.Answers = s.WorkDir, s.Answers
	if c.Plan, err = decodePlan(entries[entryPlan]); err != nil {
		return Content{}, fmt.Errorf("the plan can't be read: %w", err)
	}
	if c.Plan.Schemas, err = decodeSchemas(entries[entrySchemas]); err != nil {
		return Content{}, fmt.Errorf("the plan's schemas can't be read: %w", err)
	}
	if c.Plan.Previous, err = decodeState(entries[entryPrevious]); err != nil {
		return Content{}, fmt.Errorf("the plan's previous state can't be read: %w", err)
	}
	if c.Plan.Refreshed, err = decodeState(entries[entryRefreshed]); err != nil {
		return Content{}, fmt.Errorf("the plan's refreshed state can't be read: %w", err)
	}
	return c, nil
}

// unpack reads all entries and holds them to the digest.
func unpack(data []byte) (map[string][]byte, error) {
	if !Is(data) {
		return nil, errors.New("the file isn't a saved plan")
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the file is damaged or cut off (%w)", err)
	}
	entries := map[string][]byte{}
	foreign := false
	left := uint64(maxContent)
	for _, f := range r.File {
		if _, twice := entries[f.Name]; twice {
			return nil, fmt.Errorf("the file is damaged: it has two entries %q", f.Name)
		}
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("the file is damaged: its entry %q claims %d bytes", f.Name, f.UncompressedSize64)
		}
		if entries[f.Name], err = readEntry(f); err != nil {
			return nil, fmt.Errorf("the file is damaged in its entry %q (%w)", f.Name, err)
		}
		left -= f.UncompressedSize64
		foreign = foreign || f.Name == "tfplan"
	}
	want, ok := entries[entryDigest]
	if !ok {
		if foreign {
			return nil, errors.New("the plan was saved by another program, and only that program can apply and show it")
		}
		return nil, errors.New("the archive isn't a saved plan")
	}
	delete(entries, entryDigest)
	got := digest(order(entries), func(name string) pages { return pages{entries[name]} })
	if len(r.Comment) != sealLength || subtle.ConstantTimeCompare([]byte(got), want) != 1 || subtle.ConstantTimeCompare([]byte(r.Comment), []byte(sealOf(data))) != 1 {
		return nil, errors.New("the file was changed after it was written: its digest doesn't match its content")
	}
	return entries, nil
}

func readEntry(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r) // the reader rejects more than the entry claims
}
