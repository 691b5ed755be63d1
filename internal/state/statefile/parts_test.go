package statefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const partsExample = `{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 7,
  "lineage": "l",
  "outputs": {
    "a": {
      "value": "1",
      "type": "string"
    },
    "b": {
      "value": [],
      "type": [
        "list",
        "string"
      ],
      "of_another_engine": true
    }
  },
  "resources": [
    {
      "mode": "managed",
      "type": "t",
      "name": "x",
      "provider": "provider[\"registry.opentofu.org/a/b\"]",
      "instances": [
        {
          "index_key": 2,
          "schema_version": 0,
          "attributes": {
            "id": "\u003ca\u003e"
          },
          "sensitive_attributes": [],
          "of_another_engine": {
            "kept": 1
          }
        },
        {
          "index_key": 10,
          "schema_version": 0,
          "attributes": {},
          "sensitive_attributes": [],
          "dependencies": [
            "t.y",
            "t.z"
          ]
        }
      ]
    },
    {
      "module": "module.m[\"k\"]",
      "mode": "managed",
      "type": "t",
      "name": "x",
      "provider": "provider[\"registry.opentofu.org/a/b\"]",
      "instances": [
        {
          "deposed": "12345678",
          "schema_version": 0,
          "attributes": {},
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": [
    {
      "object_kind": "check",
      "config_addr": "check.c",
      "status": "pass",
      "objects": null
    }
  ],
  "of_another_engine": "kept"
}
`

func TestParts(t *testing.T) {
	p, ok := Split([]byte(partsExample))
	if !ok {
		t.Fatal("it can't be taken apart")
	}
	if p.Serial != 7 || p.Lineage != "l" || p.Version != "1.12.6" || len(p.Outputs) != 2 || len(p.Objects) != 3 || len(p.Checks) != 1 {
		t.Errorf("%+v", p)
	}
	if o := p.Objects[1]; o.Key != "10" || o.Dependencies != `["t.y","t.z"]` || !strings.HasSuffix(o.Resource, `"instances": [`) {
		t.Errorf("%+v", o)
	}
	if o := p.Objects[2]; o.Module != `module.m["k"]` || o.Deposed != "12345678" {
		t.Errorf("%+v", o)
	}
	if c := p.Checks[0].Name; c != "check check.c" {
		t.Errorf("%q", c)
	}
	if strings.Contains(p.Head, "attributes") || strings.Contains(p.Head, "list") || strings.Contains(p.Head, "check.c") {
		t.Errorf("the head is %s", p.Head)
	}
	p.Objects[0], p.Objects[2] = p.Objects[2], p.Objects[0]
	if got := string(p.Join()); got != partsExample {
		t.Errorf("%s", got)
	}
}

// TestNoParts has files that Join wouldn't give back.
func TestNoParts(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"no JSON":         "xxx",
		"another version": strings.Replace(partsExample, `"version": 4`, `"version": 3`, 1),
		"no version":      `{}`,
		"one line":        strings.Join(strings.Fields(partsExample), " "),
		"another order":   strings.Replace(strings.Replace(partsExample, `"index_key": 2`, `"index_key": 20`, 1), "x", "x", 1),
		"no instances":    `{"version": 4, "resources": [{"instances": []}]}`,
		"more behind it":  partsExample + "{}",
		"cut off":         partsExample[:len(partsExample)/2],
	} {
		if _, ok := Split([]byte(text)); ok {
			t.Errorf("%s: taken apart", name)
		}
	}
}

// TestPartsOfEach takes apart what Bytes writes for every state of the tests.
func TestPartsOfEach(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		s, diags := Read(data, name)
		if s == nil || diags.HasErrors() {
			continue
		}
		text, err := Bytes(s)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := Split(text)
		if !ok || len(p.Objects) != len(s.Objects) || len(p.Outputs) != len(s.Outputs) {
			t.Errorf("%s: taken apart: %t", name, ok)
		}
		n++
	}
	if n == 0 {
		t.Error("no state was read")
	}
}
