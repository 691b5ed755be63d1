package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/suggest"
)

// An orderedBody is a body that is requested its content in the order of names, whereas hcldec
// asks in the order of a map. So what it proposes in place of a wrong name is always the same,
// and it proposes the nearest one.
type orderedBody struct{ hcl.Body }

// Unknown and BodyValueMarks hand on what dynamic blocks tell hcldec.
func (o *orderedBody) Unknown() bool { return unknownBody(o.Body) }

func (o *orderedBody) BodyValueMarks() cty.ValueMarks { return bodyMarks(o.Body) }

func (o *orderedBody) Content(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	s = inOrder(s)
	content, diags := o.Body.Content(s)
	propose(diags, s)
	return ordered(content), diags
}

func (o *orderedBody) PartialContent(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diags := o.Body.PartialContent(inOrder(s))
	return ordered(content), &orderedBody{rest}, diags
}

func ordered(content *hcl.BodyContent) *hcl.BodyContent {
	out := *content
	out.Blocks = slices.Clone(content.Blocks)
	for n, block := range out.Blocks {
		inner := *block
		inner.Body = &orderedBody{block.Body}
		out.Blocks[n] = &inner
	}
	return &out
}

func inOrder(s *hcl.BodySchema) *hcl.BodySchema {
	out := &hcl.BodySchema{Attributes: slices.Clone(s.Attributes), Blocks: slices.Clone(s.Blocks)}
	slices.SortFunc(out.Attributes, func(a, b hcl.AttributeSchema) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Blocks, func(a, b hcl.BlockHeaderSchema) int { return strings.Compare(a.Type, b.Type) })
	return out
}

// propose puts the nearest name where a near one is proposed.
func propose(diags hcl.Diagnostics, s *hcl.BodySchema) {
	for _, d := range diags {
		head, proposal, ok := strings.Cut(d.Detail, " Did you mean ")
		if !ok || !strings.HasPrefix(proposal, `"`) {
			continue
		}
		var given string
		var names []string
		if _, err := fmt.Sscanf(head, "An argument named %q", &given); err == nil {
			for _, a := range s.Attributes {
				names = append(names, a.Name)
			}
		} else if _, err := fmt.Sscanf(head, "Blocks of type %q", &given); err == nil {
			for _, b := range s.Blocks {
				names = append(names, b.Type)
			}
		}
		if best := suggest.Name(given, names); best != "" {
			d.Detail = fmt.Sprintf("%s Did you mean %q?", head, best)
		}
	}
}

// ProposeBeside proposes names for arguments and blocks of a body that its schema doesn't
// have and finds no near name for, among names that have a meaning beside the schema.
// Names within nested blocks stay as they are.
func ProposeBeside(diags hcl.Diagnostics, body hcl.Body, arguments, blocks []string) {
	native, ok := body.(*hclsyntax.Body)
	if !ok || !diags.HasErrors() {
		return
	}
	ask := func(at hcl.Range, given string, names []string) {
		best := suggest.Proper(given, names)
		for _, d := range diags {
			if best != "" && d.Subject != nil && *d.Subject == at && strings.HasSuffix(d.Detail, " not expected here.") {
				d.Detail += fmt.Sprintf(" Did you mean %q?", best)
			}
		}
	}
	for name, a := range native.Attributes {
		ask(a.NameRange, name, arguments)
	}
	for _, b := range native.Blocks {
		ask(b.TypeRange, b.Type, blocks)
	}
}
