package cliconfig

import (
	"fmt"
	"strings"
	"testing"

	"weir.dev/weir/internal/core/addr"
)

func TestRepositoryTemplate(t *testing.T) {
	p := addr.Provider{Host: "example.com", Namespace: "team", Type: "net"}
	for _, test := range []struct{ template, include, want string }{
		{"ghcr.io/all/${hostname}/${namespace}-${type}", "", "ghcr.io/all/example.com/team-net"},
		{"ghcr.io/${namespace}/${type}", `include = ["example.com/*/*"]`, "ghcr.io/team/net"},
		{"ghcr.io/all/net", `include = ["example.com/team/net"]`, "ghcr.io/all/net"},
		{"ghcr.io/${namespace}/${type}", "", `! "include" doesn't say one registry hostname`},
		{"ghcr.io/${namespace}/${type}", `include = ["example.com/*/*", "example.org/*/*"]`, "! doesn't say one registry hostname"},
		{"ghcr.io/${hostname}/x", `include = ["example.com/*/*"]`, "! doesn't say one provider namespace"},
		{"ghcr.io/${hostname}/${namespace}/${type}/${version}", "", `! There is no "version"`},
		{"ghcr.io/%{if}${hostname}", "", "! isn't a template"},
		{"${hostname}${namespace}${type}", "", "! has no name of a repository"},
		{"ghcr.io/${hostname}/${namespace}/A-${type}", "", "! isn't the name of a repository"},
	} {
		text := fmt.Sprintf("provider_installation {\n  oci_mirror {\n    repository_template = %q\n    %s\n  }\n}\n", test.template, test.include)
		c, problems := read(t, "rc", text)
		want, fails := strings.CutPrefix(test.want, "! ")
		if fails {
			if !strings.Contains(problems, want) {
				t.Errorf("%s: %q, want %q", test.template, problems, want)
			}
			continue
		}
		if problems != "" {
			t.Errorf("%s: %s", test.template, problems)
			continue
		}
		if from, err := c.Installation.Methods[0].Repository(p); err != nil || from.String() != want {
			t.Errorf("%s: %s %v", test.template, from, err)
		}
	}
}
