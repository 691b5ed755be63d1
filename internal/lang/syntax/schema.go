package syntax

import "github.com/hashicorp/hcl/v2"

// Schema makes a body schema of attribute names and block types. A name that
// ends in ! is required, a block type with a colon has the labels behind it.
func Schema(attributes []string, blocks ...string) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, name := range attributes {
		required := name[len(name)-1] == '!'
		if required {
			name = name[:len(name)-1]
		}
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name, Required: required})
	}
	for _, typ := range blocks {
		header := hcl.BlockHeaderSchema{Type: typ}
		for i := range typ {
			if typ[i] == ':' {
				header = hcl.BlockHeaderSchema{Type: typ[:i], LabelNames: []string{typ[i+1:]}}
				break
			}
		}
		s.Blocks = append(s.Blocks, header)
	}
	return s
}
