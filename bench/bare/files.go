package main

import (
	"encoding/json"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
	"weir.dev/weir/internal/word/diag"
	"weir.dev/weir/internal/word/value"
)

// parts are what each part of the work takes, in seconds of CPU.
type parts struct {
	Start  float64 `json:"start"` // of a process
	Parse  float64 `json:"parse"`
	Decode float64 `json:"decode"`
	Encode float64 `json:"encode"`
}

// files parses every file of configuration below a directory, each once, and decodes
// and encodes a state with its objects.
func files(dir, stateFile string) {
	p := parts{Start: used()}
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	p.Parse = timed(func() {
		check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".tf") {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, diags := syntax.Parse(path, src); diags.HasErrors() {
				return diags.Err()
			}
			return nil
		}))
	})
	if stateFile != "" {
		var s *state.Snapshot
		values := map[*state.Object]cty.Value{}
		ty := builtin.Schemas(builtin.Options{}).Resources.Schema("terraform_data").Block.ImpliedType()
		p.Decode = timed(func() {
			src, err := os.ReadFile(stateFile)
			check(err)
			var diags diag.List
			s, diags = statefile.Read(src, stateFile)
			if diags.HasErrors() {
				log.Fatal(diags)
			}
			for _, o := range s.Objects {
				v, err := value.FromJSON(o.JSON, ty)
				check(err)
				values[o] = v
			}
		})
		p.Encode = timed(func() {
			for _, v := range values {
				_, err := value.JSON(v, ty)
				check(err)
			}
			_, err := statefile.Bytes(s)
			check(err)
		})
	}
	out, err := json.Marshal(p)
	check(err)
	os.Stdout.Write(append(out, '\n'))
}

func timed(do func()) float64 {
	before := used()
	do()
	return used() - before
}

// used is the CPU time of the process so far.
func used() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
