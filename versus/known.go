package main

import (
	"regexp"
	"slices"

	"weir.dev/weir/internal/simtest"
)

// A known difference is deliberate, or one where the peer is wrong. A
// difference that fits it in everything is explained.
type known struct {
	Entry  string // its heading in docs/where-weir-differs.md
	Reason string // in a few words

	Where, Path string // regexps that have to match as a whole; empty fits all
	Peer, Weir  string
	When        func(simtest.Step, outcome) bool // nil for always
}

var knowns = []*known{
	{
		Entry: keptAfterDeletion, Reason: "the peer forgets identity, marks and order",
		Where: "state", Path: `\.resources.*\.(identity|identity_schema_version|create_before_destroy|sensitive_attributes\[.*)`,
		Peer: none, When: failed,
	},
	{
		Entry: failedOutputs, Reason: "the peer stores what the plan knew",
		Where: "state", Path: `\.outputs\..*`, When: failed,
	},
	{
		Entry: storedDependencies, Reason: "the peer stores what is only named",
		Where: "state", Path: `\.resources.*\.dependencies(\[.*)?`, Weir: none,
	},
	{
		Entry: storedDependencies, Reason: "the peer shows what is only named",
		Where: "plan", Path: `\.prior_state.*\.depends_on(\[.*)?`, Weir: none,
	},
	{
		Entry: "Plan JSON has `applyable` and `complete`", Reason: "Terraform has them",
		Where: "plan", Path: `\.(applyable|complete)`, Peer: none,
	},
	{
		Entry: "Sensitive by the schema, everywhere", Reason: "marked in planned values too",
		Where: "plan", Path: `\.planned_values.*\.sensitive_values\.secret`, Peer: none, Weir: "true",
	},
	{
		Entry: "Outputs of what -target or -exclude leaves out", Reason: "what can't be computed stays",
		Where: "state|plan", Path: `(\.prior_state\.values|\.planned_values)?\.(outputs|output_changes)(\..*)?`, When: partial,
	},
	{
		Entry: "Plans to destroy evaluate only what providers are configured with", Reason: "the peer evaluates all",
		Where: "exit plan", Path: "plan; .*", Peer: "1", Weir: "0", When: destroys,
	},
	{
		Entry: "Plans to destroy evaluate only what providers are configured with", Reason: "the peer reads data",
		Where: "events plan", Path: "data .*", Weir: "0", When: destroys,
	},
}

// Headings that are long, or needed more than once.
const (
	keptAfterDeletion  = "Objects whose deletion failed stay as they were"
	failedOutputs      = "Outputs of what could not be made"
	storedDependencies = "Stored dependencies are those on objects"
)

// none is what a side has that lacks something.
const none = "-"

func destroys(step simtest.Step, _ outcome) bool { return step.Destroy }

func partial(step simtest.Step, _ outcome) bool { return len(step.Targets)+len(step.Excludes) > 0 }

// failed reports whether the peer's apply did.
func failed(_ simtest.Step, peer outcome) bool {
	return slices.ContainsFunc(peer.Results, func(r result) bool { return r.Command == "apply" && r.Exit != 0 })
}

func (k *known) fits(d difference, step simtest.Step, peer outcome) bool {
	for _, part := range [][2]string{{k.Where, d.Where}, {k.Path, d.Path}, {k.Peer, d.Peer}, {k.Weir, d.Weir}} {
		if part[0] == none && part[1] != "" {
			return false
		}
		if part[0] != "" && part[0] != none && !regexp.MustCompile(`(?s)^(?:`+part[0]+`)$`).MatchString(part[1]) {
			return false
		}
	}
	return k.When == nil || k.When(step, peer)
}

// explain finds the known differences among those of a step and of what the
// peer made of it.
func explain(list []difference, step simtest.Step, peer outcome) {
	for i := range list {
		for _, k := range knowns {
			if k.fits(list[i], step, peer) {
				list[i].Known = k
				break
			}
		}
	}
}
