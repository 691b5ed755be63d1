package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestCurrent(t *testing.T) {
	source := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, test := range []struct {
		name string
		set  Build
		info *debug.BuildInfo
		want string
	}{
		{"nothing", Build{}, nil, next},
		{"released", Build{Version: "1.2.3", Commit: "fedc", Date: "2026-05-06"}, &debug.BuildInfo{Settings: source}, "1.2.3 (commit fedc of 2026-05-06)"},
		{"built by make", Build{Commit: "0123456789abcdef-dirty", Date: "2026-05-06"}, nil, next + " (commit 0123456789ab of 2026-05-06, with changes)"},
		{"from a work tree", Build{}, &debug.BuildInfo{Settings: source, Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab+dirty"}}, next + " (commit 0123456789ab of 2026-01-02T03:04:05Z, with changes)"},
		{"an untagged commit", Build{}, &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab"}}, next},
		{"not a module", Build{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, next},
		{"installed", Build{}, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "1.2.3"},
	} {
		if got := current(test.set, test.info).String(); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
