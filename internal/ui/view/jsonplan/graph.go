package jsonplan

import (
	"weir.dev/weir/internal/plan"
	"weir.dev/weir/internal/plan/edges"
	"weir.dev/weir/internal/plan/execgraph"
)

// GraphVersion is the version of the execution graph's form, which
// docs/execution-graph.schema.json describes.
const GraphVersion = "1.0"

type executionGraph struct {
	FormatVersion string `json:"format_version"`
	Steps         []step `json:"steps"`
	Edges         []edge `json:"edges"`
}

type step struct {
	ID       int    `json:"id"`
	Kind     string `json:"kind"`
	Label    string `json:"label"`
	Address  string `json:"address,omitempty"`
	Deposed  string `json:"deposed,omitempty"`
	Provider string `json:"provider,omitempty"`
	When     string `json:"when,omitempty"`
	Of       *int   `json:"failure_of,omitempty"`
	Batch    int    `json:"batch,omitempty"`
}

type edge struct {
	Step   int          `json:"step"`
	After  int          `json:"after"`
	Reason edges.Reason `json:"reason"`
	Value  string       `json:"value,omitempty"`
	References
}

// References are those of an edge.
type References struct {
	List []Reference `json:"references,omitempty"`
}

// A Reference is one of those that lead from a step to another.
type Reference struct {
	To    string `json:"to"`
	Text  string `json:"text,omitempty"`
	Range inFile `json:"range"`
}

type inFile struct {
	Filename string   `json:"filename"`
	Start    position `json:"start"`
	End      position `json:"end"`
}

type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// ReferencesOf writes the references of an edge.
func ReferencesOf(e edges.Edge) References {
	var list []Reference
	for _, hop := range e.References {
		r := hop.Range
		list = append(list, Reference{hop.To, hop.Text, inFile{r.Filename, position(r.Start), position(r.End)}})
	}
	return References{list}
}

// executionGraphOf has the steps of a plan's apply with what each waits for, nil for a plan
// with errors and where nobody asks for reasons.
func executionGraphOf(p *plan.Plan, reasons *edges.Of) *executionGraph {
	if p.Graph == nil || reasons == nil {
		return nil
	}
	g := &executionGraph{FormatVersion: GraphVersion, Steps: make([]step, len(p.Graph.Steps)), Edges: []edge{}}
	for id := range p.Graph.Steps {
		s := &p.Graph.Steps[id]
		to := step{ID: id, Kind: s.Kind.String(), Label: s.Label(), Address: s.Check(), Batch: s.Batch}
		if s.Object != nil {
			to.Address, to.Deposed = s.Object.Instance.String(), s.Object.Deposed
		}
		if s.Kind == execgraph.Output {
			to.Address = "output." + s.Name
		}
		if s.Provider != nil {
			to.Provider = s.Provider.String()
		}
		switch s.When {
		case execgraph.Always:
			to.When = "always"
		case execgraph.OnFailure:
			of := int(s.Of)
			to.When, to.Of = "on_failure", &of
		}
		g.Steps[id] = to
		for _, after := range s.After {
			e := reasons.Edge(execgraph.ID(id), after)
			g.Edges = append(g.Edges, edge{id, int(after), e.Reason, e.Value, ReferencesOf(e)})
		}
	}
	return g
}
