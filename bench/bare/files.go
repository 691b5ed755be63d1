package main

import (
	"encoding/json"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/core/value"
	"weir.dev/weir/internal/lang/format"
	"weir.dev/weir/internal/lang/syntax"
	"weir.dev/weir/internal/provider/builtin"
	"weir.dev/weir/internal/state"
	"weir.dev/weir/internal/state/statefile"
)

// parts are what each part of the work takes, in seconds of CPU.
type parts struct {
	Start  float64 `json:"start"` // of a process
	Parse  float64 `json:"parse"`
	Layout float64 `json:"layout"` // with reading and writing
	Read   float64 `json:"read"`   // the state without its objects
	Decode float64 `json:"decode"` // its objects
	Encode float64 `json:"encode"` // both
}

// files parses every file of configuration below a directory, each once, or lays it out, and
// decodes and encodes a state with its objects.
func files(dir, stateFile string, layout bool) {
	p := parts{Start: used()}
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	all := func(do func(path string, src []byte) error) float64 {
		return timed(func() {
			check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !format.Has(path) {
					return err
				}
				src, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				return do(path, src)
			}))
		})
	}
	if layout {
		p.Layout = all(func(path string, src []byte) error { return os.WriteFile(path, hclwrite.Format(src), 0o600) })
	} else {
		p.Parse = all(func(path string, src []byte) error {
			_, diags := syntax.Parse(path, src)
			return diags.Err()
		})
	}
	if stateFile != "" {
		var s *state.Snapshot
		values := map[*state.Object]cty.Value{}
		ty := builtin.Schemas(builtin.Options{}).Resources.Schema("terraform_data").Block.ImpliedType()
		p.Read = timed(func() {
			src, err := os.ReadFile(stateFile)
			check(err)
			var diags diag.List
			s, diags = statefile.Read(src, stateFile)
			if diags.HasErrors() {
				log.Fatal(diags)
			}
		})
		p.Decode = timed(func() {
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
