package statefile

import (
	"encoding/json"
	"fmt"

	"weir.dev/weir/internal/core/addr"
	"weir.dev/weir/internal/state"
)

// storedTransfer is the record of a move between states in the file. Other programs ignore it.
type storedTransfer struct {
	ID        string       `json:"id"`
	Sends     bool         `json:"sends,omitempty"`
	Dir       string       `json:"dir"`
	Workspace string       `json:"workspace"`
	Lineage   string       `json:"lineage"`
	Moves     []storedMove `json:"moves"`
}

type storedMove struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Deposed string `json:"deposed,omitempty"`
	// Provider is the configuration in the destination.
	Provider string `json:"provider,omitempty"`
}

func transferJSON(t *state.Transfer) ([]byte, error) {
	out := storedTransfer{t.ID, t.Sends, t.Dir, t.Workspace, t.Lineage, make([]storedMove, len(t.Moves))}
	for i, m := range t.Moves {
		out.Moves[i] = storedMove{From: m.From.Instance.String(), To: m.To.Instance.String(), Deposed: m.From.Deposed}
		if p, ok := t.Providers[m.To]; ok {
			out.Moves[i].Provider = p.String()
		}
	}
	return json.Marshal(out)
}

// parseTransfer fails for what it can't read: without the record objects could be in two states.
func parseTransfer(text []byte) (*state.Transfer, error) {
	if string(text) == "null" {
		return nil, nil
	}
	var in storedTransfer
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	if in.ID == "" {
		return nil, fmt.Errorf("the record of a move between states has no id")
	}
	t := &state.Transfer{ID: in.ID, Sends: in.Sends, Dir: in.Dir, Workspace: in.Workspace, Lineage: in.Lineage}
	for _, m := range in.Moves {
		from, err := addr.ParseInstance(m.From)
		if err != nil {
			return nil, err
		}
		to, err := addr.ParseInstance(m.To)
		if err != nil {
			return nil, err
		}
		move := state.Move{From: addr.Object{Instance: from, Deposed: m.Deposed}, To: addr.Object{Instance: to, Deposed: m.Deposed}}
		t.Moves = append(t.Moves, move)
		if m.Provider == "" {
			continue
		}
		if t.Providers == nil {
			t.Providers = map[addr.Object]addr.ProviderConfig{}
		}
		if t.Providers[move.To], err = addr.ParseProviderConfig(m.Provider); err != nil {
			return nil, err
		}
	}
	return t, nil
}
