package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Matrix has weir bring a state from each of the places to each other one, in clear and
// encrypted, and looks each time whether it is the same state.
func Matrix(t *testing.T, places []Place) {
	weir := os.Getenv("IAC_BIN")
	if weir == "" {
		t.Skip("no program to test: IAC_BIN is not set")
	}
	all := Place{}
	for _, p := range places {
		all.Env = append(all.Env, p.Env...)
		all.Settings += p.Settings
	}
	for _, sealed := range []bool{false, true} {
		t.Run(map[bool]string{false: "in clear", true: "encrypted"}[sealed], func(t *testing.T) {
			e := start(t, "weir", weir, all, map[string]string{"main.tf": configuration})
			if sealed {
				e.write(map[string]string{"encryption.tf": fast})
			}
			m := &moving{engine: e, sealed: sealed, size: 314159}
			m.goTo(places[0])
			e.apply(fmt.Sprintf("-var=size=%d", m.size))
			m.lineage = m.header().Lineage
			for i := range places { // to each later one and back, and on to the next
				for _, p := range places[i+1:] {
					m.migrate(p)
					m.migrate(places[i])
				}
				if i+1 < len(places) {
					m.migrate(places[i+1])
				}
			}
			t.Logf("%d migrations between %d places, %d of them seen in what is stored", m.steps-1, len(places), m.looked)
		})
	}
}

// fast encrypts with a key that nobody has to derive.
const fast = `
terraform {
  encryption {
    key_provider "external" "k" {
      command = ["/bin/sh", "-c", <<-EOT
        echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
        echo '{"keys":{"encryption_key":"MDEyMzQ1Njc4OWFiY2RlZg==","decryption_key":"MDEyMzQ1Njc4OWFiY2RlZg=="},"meta":{}}'
        EOT
      ]
    }
    method "aes_gcm" "m" {
      keys = key_provider.external.k
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
`

// moving is a state on its way.
type moving struct {
	*engine
	sealed      bool
	at          Place
	steps, size int
	looked      int // how often what is stored was inspected
	lineage     string
}

func (m *moving) name() string { return fmt.Sprintf("step%d-%v", m.steps, m.sealed) }

func (m *moving) goTo(p Place, flags ...string) {
	m.t.Helper()
	m.steps++
	m.at = p
	m.write(map[string]string{"backend.tf": p.Block(m.name())})
	m.run(append([]string{"init", "-input=false", "-no-color"}, flags...)...)
}

type header struct {
	Lineage string
	Serial  int
}

func (m *moving) header() (h header) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(m.run("state", "pull")), &h); err != nil {
		m.t.Fatal(err)
	}
	return h
}

// migrate continues to a place where there is no state, and every fifth time changes it.
func (m *moving) migrate(to Place) {
	m.t.Helper()
	from, before := m.at.Kind, m.header()
	m.goTo(to, "-migrate-state", "-force-copy")
	if after := m.header(); after.Lineage != m.lineage || after.Serial < before.Serial {
		m.t.Fatalf("from %s to %s: %+v became %+v", from, to.Kind, before, after)
	}
	if got := strings.TrimSpace(m.run("output", "-raw", "size")); got != fmt.Sprint(m.size) {
		m.t.Fatalf("from %s to %s: the output is %q instead of %d", from, to.Kind, got, m.size)
	}
	// From a cloud block it comes with the workspace that it has there.
	if selected := strings.TrimSpace(m.run("workspace", "show")); selected == "default" || to.Kind == "cloud" {
		m.looked++
		m.look(from, to)
	}
	if m.steps%5 == 0 {
		m.size++
		m.apply(fmt.Sprintf("-var=size=%d", m.size))
	}
}

// look finds the state as it is stored.
func (m *moving) look(from string, to Place) {
	m.t.Helper()
	if content := to.Content(m.t, m.name()); content == nil || bytes.Contains(content, []byte(fmt.Sprint(m.size))) == m.sealed {
		m.t.Fatalf("from %s to %s, encrypted: %v: %.200s", from, to.Kind, m.sealed, content)
	}
}

// Local keeps states in files below a directory.
func Local(dir string) Place {
	return Place{
		Kind:      "local",
		Arguments: fmt.Sprintf("    path = %q", filepath.Join(dir, "%s.tfstate")),
		Content: func(t *testing.T, name string) []byte {
			content, err := os.ReadFile(filepath.Join(dir, name+".tfstate"))
			if err != nil {
				t.Fatal(err)
			}
			return content
		},
	}
}
