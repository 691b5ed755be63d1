package roots

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"

	"weir.dev/weir/internal/core/diag"
	"weir.dev/weir/internal/plan/planfile"
	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
	"weir.dev/weir/internal/workspace"
)

// listFile is the file in a folder of saved plans that has their roots and order.
const listFile = "roots.json"

// Saved is a folder with a saved plan for each root.
type Saved struct {
	dir  string
	list savedList
}

type savedList struct {
	Version  int         `json:"version"`
	Destroys bool        `json:"destroys,omitempty"`
	Roots    []savedRoot `json:"roots"` // upstream roots first
}

type savedRoot struct {
	Name     string   `json:"name"`
	Upstream []string `json:"upstream,omitempty"`
	// Reads are the outputs of upstream roots that the root refers to.
	Reads []savedRead `json:"reads,omitempty"`
}

// A savedRead is a data source that reads the state of an upstream root.
type savedRead struct {
	Address string   `json:"address"`
	Root    string   `json:"root"`
	Outputs []string `json:"outputs,omitempty"`
}

// NewSaved prepares a folder for plans.
func NewSaved(d *workspace.Directory, path string) (*Saved, error) {
	dir, err := filepath.Abs(d.Place.Path(path))
	if err != nil {
		return nil, err
	}
	if err := d.Place.StateDisk.MakeFolders(dir, 0o755); err != nil {
		return nil, err
	}
	s := &Saved{dir: dir, list: savedList{Version: 1}}
	return s, s.write() // plans of an earlier run aren't of this one
}

// Path is the file for the plan of a root.
func (s *Saved) Path(r *Root) string {
	return filepath.Join(s.dir, url.PathEscape(r.Name)+planfile.Suffix)
}

// Write writes the list of the roots that were planned in a run.
func (s *Saved) Write(list []*Root, r *Run) error {
	s.list = savedList{Version: 1, Destroys: r.destroys}
	for _, root := range list {
		one := savedRoot{Name: root.Name}
		for _, up := range root.Upstreams() {
			if r.tasks[up] != nil {
				one.Upstream = append(one.Upstream, up.Name)
			}
		}
		for _, e := range root.Upstream {
			if outputs, ok := r.tasks[root].reads[e.Address]; ok && r.tasks[e.To] != nil {
				one.Reads = append(one.Reads, savedRead{e.Address, e.To.Name, outputs})
			}
		}
		s.list.Roots = append(s.list.Roots, one)
	}
	return s.write()
}

func (s *Saved) write() error {
	data, err := json.MarshalIndent(s.list, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(s.dir, listFile), append(data, '\n'), 0o644)
}

// IsSaved reports whether a path is a folder of plans.
func IsSaved(d *workspace.Directory, path string) bool {
	_, err := readlimit.File(filepath.Join(d.Place.Path(path), listFile))
	return err == nil
}

// ReadSaved reads the list of a folder.
func ReadSaved(d *workspace.Directory, path string) (*Saved, diag.List) {
	dir, err := filepath.Abs(d.Place.Path(path))
	var data []byte
	if err == nil {
		data, err = readlimit.File(filepath.Join(dir, listFile))
	}
	s := &Saved{dir: dir}
	if err == nil {
		err = json.Unmarshal(data, &s.list)
	}
	if err != nil {
		return nil, planfile.Unreadable.As("Failed to read the plans of roots").List("%q isn't a folder of plans that plan -all -out=%s has written: %s.", path, path, diag.Cause(err))
	}
	if s.list.Version != 1 {
		return nil, planfile.Unreadable.As("Failed to read the plans of roots").List("The list of plans in %q has version %d, which a newer version of weir has written.", path, s.list.Version)
	}
	if len(s.list.Roots) == 0 {
		return nil, planfile.Unreadable.As("Failed to read the plans of roots").List("The plans in %q aren't complete, because a root couldn't be planned. Make new plans.", path)
	}
	return s, nil
}

// Destroys reports whether the plans destroy.
func (s *Saved) Destroys() bool { return s.list.Destroys }

// Choose finds the roots of the plans, with the order that planning found.
func (s *Saved) Choose(e *Estate) ([]*Root, diag.List) {
	named := func(name string) *Root {
		if i := slices.IndexFunc(e.Roots, func(r *Root) bool { return r.Name == name }); i >= 0 {
			return e.Roots[i]
		}
		return nil
	}
	var list []*Root
	var diags diag.List
	for _, one := range s.list.Roots {
		r := named(one.Name)
		if r == nil {
			diags.Add(NoRoots.As("No root of that name").New(diag.Error, "The saved plans have one for the root %s, and that root isn't there any more. Make new plans.", one.Name))
			continue
		}
		list = append(list, r)
		r.savedReads = map[string][]string{}
		for _, read := range one.Reads {
			if to := named(read.Root); to != nil {
				r.upstream(to, Read{Address: read.Address})
				r.savedReads[read.Address] = read.Outputs
			}
		}
		for _, up := range one.Upstream {
			if to := named(up); to != nil && !slices.Contains(r.Upstreams(), to) {
				r.upstream(to, Read{Address: "the saved plan"})
			}
		}
	}
	if diags.HasErrors() {
		return nil, diags
	}
	return Order(list)
}
