package diag

// Kinds of problems that several packages report.
var (
	Bug                = Code{Name: "bug", Summary: "Bug in weir"}
	Interrupted        = Code{Name: "interrupted", Summary: "Interrupted"}
	Unreadable         = Code{Name: "unreadable-file", Summary: "Failed to read file"}
	Unwritable         = Code{Name: "unwritable-file", Summary: "Failed to write file"}
	BadOption          = Code{Name: "invalid-option", Summary: "Invalid option"}
	Incompatible       = Code{Name: "incompatible-options", Summary: "Incompatible options"}
	BadAddress         = Code{Name: "invalid-address", Summary: "Invalid address"}
	Unsupported        = Code{Name: "unsupported-argument", Summary: "Unsupported argument"}
	Missing            = Code{Name: "missing-argument", Summary: "Missing required argument"}
	Unsuitable         = Code{Name: "unsuitable-value", Summary: "Unsuitable value"}
	Duplicate          = Code{Name: "duplicate-declaration", Summary: "Duplicate declaration"}
	BadName            = Code{Name: "invalid-name", Summary: "Invalid name"}
	BadReference       = Code{Name: "invalid-reference", Summary: "Invalid reference"}
	NoAttribute        = Code{Name: "unsupported-attribute", Summary: "Unsupported attribute"}
	BadVersion         = Code{Name: "invalid-version", Summary: "Invalid version constraint"}
	Outdated           = Code{Name: "outdated-form", Summary: "Outdated form"}
	Cycle              = Code{Name: "cycle", Summary: "Cycle"}
	BadCondition       = Code{Name: "invalid-condition", Summary: "Invalid condition result"}
	NotRepeated        = Code{Name: "not-repeated", Summary: `Reference to "count" in non-counted context`}
	UndeclaredProvider = Code{Name: "undeclared-provider", Summary: "Undeclared provider configuration"}
	BadProvider        = Code{Name: "invalid-provider-reference", Summary: "Invalid provider configuration reference"}
	BadProviderKey     = Code{Name: "invalid-provider-key", Summary: "Invalid provider instance key"}
	BadSource          = Code{Name: "invalid-module-source", Summary: "Invalid module source address"}
	BadImport          = Code{Name: "invalid-import", Summary: "Invalid import"}
	BadRemoved         = Code{Name: "invalid-removed", Summary: "Invalid removed block"}
	BadProvisioner     = Code{Name: "invalid-provisioner", Summary: "Invalid provisioner configuration"}
	UnknownProvisioner = Code{Name: "unsupported-provisioner", Summary: "Unsupported provisioner type"}
	UnknownBackend     = Code{Name: "unsupported-backend", Summary: "Unsupported backend type"}
	BadBackend         = Code{Name: "invalid-backend-argument", Summary: "Invalid backend configuration"}
	StateUnreadable    = Code{Name: "state-unreadable", Summary: "Error loading the state"}
	Edition            = Code{Name: "unsupported-language-edition", Summary: "Unsupported language edition"}
	NoInstance         = Code{Name: "no-such-instance", Summary: "No such resource instance"}
	BadType            = Code{Name: "invalid-type", Summary: "Invalid type specification"}
	Unanswered         = Code{Name: "unanswered", Summary: "Unreadable answer"}
	BadRepetition      = Code{Name: "invalid-repetition", Summary: "Invalid repetition argument"}
	TooLarge           = Code{Name: "value-too-large", Summary: "Value too large"}
	BadWorkspace       = Code{Name: "invalid-workspace", Summary: "Invalid workspace name"}
	Ephemeral          = Code{Name: "ephemeral-value", Summary: "Invalid use of ephemeral value"}
	UnknownDeployment  = Code{Name: "unknown-deployment", Summary: "Unknown deployment"}
	Expression         = Code{Name: "invalid-expression", Summary: "Invalid expression"}
	BadMoved           = Code{Name: "invalid-moved", Summary: `Invalid "moved" address`}
	InDoubt            = Code{Name: "in-doubt", Summary: "Objects in doubt"}
	NoConfiguration    = Code{Name: "no-configuration", Summary: "No configuration files"}
)
