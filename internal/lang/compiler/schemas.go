package compiler

import (
	"github.com/hashicorp/hcl/v2"

	"weir.dev/weir/internal/lang/compiler/triggers"
)

// Schemas returns the schema of each block of the language that has arguments of its own,
// for the language reference. A nested block has the name of its parent in front.
func Schemas() map[string]*hcl.BodySchema {
	return map[string]*hcl.BodySchema{
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
		"resource.action_trigger": triggers.Schema,
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
