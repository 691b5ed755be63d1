package compiler

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/module"
)

// Schemas returns the schema of each block of the language that has arguments of its own,
// for the language reference, and those of the files they stand in. A nested block has the name
// of its parent in front.
func Schemas() (file *hcl.BodySchema, blocks map[string]*hcl.BodySchema) {
	files := &hcl.BodySchema{Blocks: append(slices.Clone(module.FileSchema.Blocks), module.QuerySchema.Blocks...)}
	return files, map[string]*hcl.BodySchema{
		"terraform":               settingsSchema,
		"language":                languageSchema,
		"provider":                providerSchema,
		"variable":                variableSchema,
		"output":                  outputSchema,
		"module":                  callSchema,
		"module.lifecycle":        callLifecycleSchema,
		"resource":                managedSchema,
		"data":                    dataSchema,
		"ephemeral":               dataSchema,
		"resource.lifecycle":      lifecycleSchema,
		"resource.action_trigger": triggerSchema,
		"resource.provisioner":    provisionerSchema,
		"condition":               conditionSchema,
		"check":                   checkSchema,
		"moved":                   movedSchema,
		"import":                  importSchema,
		"removed":                 removedSchema,
		"removed.lifecycle":       removedLifecycleSchema,
		"action":                  actionSchema,
		"list":                    listSchema,
	}
}
