package weir

import (
	"context"
	"time"
)

// A Provider is a provider whose types are functions of this program. It may be used by
// several workspaces at once, and isn't changed after it was given to [InProcess].
type Provider struct {
	// Config is the provider's own configuration, with ConfigBlocks nested in it. Configure
	// gets it before anything else is called, except for functions and checks. All three may be nil.
	Config       map[string]Attribute
	ConfigBlocks map[string]Block
	Configure    func(ctx context.Context, config Object) error

	Resources  map[string]ResourceType
	Data       map[string]DataType
	Ephemerals map[string]EphemeralType
	Actions    map[string]ActionType
	// Lists are by the resource types whose objects they find, which have identities.
	Lists     map[string]ListType
	Functions map[string]Function
}

// An Object is the attributes and nested blocks of an object by name, as [encoding/json] has
// them: string, float64, bool, []any, map[string]any, and nil for what isn't set. Functions may
// return other Go values that encode to the same JSON.
type Object = map[string]any

// Unknown takes the place of a value that isn't known before the apply, in objects that are
// checked and planned. Other functions get nil there.
var Unknown any = unknown{}

type unknown struct{}

func (unknown) String() string { return "(known after apply)" }

// A Nesting is how nested attributes or blocks are grouped. A single one is a map[string]any,
// those by key are in a map[string]any, and lists and sets are an []any.
type Nesting string

// The nestings.
const (
	NestSingle Nesting = "single"
	NestList   Nesting = "list"
	NestSet    Nesting = "set"
	NestMap    Nesting = "map"
)

// An Attribute is an argument or a result. Without Required, Optional and Computed it
// is optional.
type Attribute struct {
	// Type is written as in a variable block: string, number, bool, list(string),
	// object({ a = string }) and so on, but not any. It is empty where the attribute has
	// nested Attributes, which are grouped by Nesting; [NestSingle] where that is empty.
	Type       string
	Attributes map[string]Attribute
	Nesting    Nesting

	Required bool
	Optional bool
	// Computed: the provider decides where the configuration doesn't. Volatile: it decides
	// again with each update.
	Computed, Volatile bool
	Sensitive          bool
	// WriteOnly: functions get the value, but neither plans nor states have it.
	WriteOnly bool
	// Replace: a change needs a new object. Elements of a set can't have it; the set can.
	Replace     bool
	Description string
	// Deprecated says what to use instead.
	Deprecated string
}

// A Block is a type of nested blocks. They are grouped by Nesting; [NestList] where that is empty.
type Block struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	Nesting    Nesting
	// Min and Max limit how many are written; Max 0 is no limit.
	Min, Max    int
	Description string
	// Deprecated says what to use instead.
	Deprecated string
}

// A ResourceType is what can be done with objects of a type. Results may leave out
// attributes that are as desired. An error beside an object says that the object
// exists nevertheless; [ErrUnanswered] that this isn't known.
type ResourceType struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	// Validate checks a configuration, which may have [Unknown] parts.
	Validate func(ctx context.Context, config Object) error
	// Plan changes what the engine would plan. Deletions aren't planned by it.
	Plan   func(ctx context.Context, p *Planning) error
	Create func(ctx context.Context, desired Object) (Object, error)
	// Read returns the object as it is now, nil where it is gone. Without it objects
	// are taken to be as they were left.
	Read func(ctx context.Context, current Object) (Object, error)
	// Update changes an object. Without it every change replaces.
	Update func(ctx context.Context, current, desired Object) (Object, error)
	Delete func(ctx context.Context, current Object) error
	// Import finds an object by an id, nil without one. ImportIdentity does by an identity.
	Import         func(ctx context.Context, id string) (Object, error)
	ImportIdentity func(ctx context.Context, identity Object) (Object, error)
	// Identity are what identifies an object for good, and what ImportIdentity is given. An object's are
	// its attributes of the same names. Those that are Required are needed for an import.
	Identity map[string]Attribute
	// Version is that of stored objects. Upgrade is given an object that an older version stored.
	// Without it the type takes the attributes that it still has.
	Version int
	Upgrade func(ctx context.Context, version int, stored Object) (Object, error)
}

// A Planning is the plan of one object. A [ResourceType.Plan] changes Planned and Replace.
type Planning struct {
	// Prior is the object as it is, nil for a new one. Config is its configuration.
	Prior, Config Object
	// Planned is the object after the apply, with [Unknown] for what only the apply will know.
	// Only computed attributes that aren't in the configuration can differ from that.
	Planned Object
	// Replace are the attributes and blocks at the top whose change needs a new object.
	Replace []string
}

// A DataType is a type of data source.
type DataType struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	// Validate checks a configuration, which may have [Unknown] parts.
	Validate func(ctx context.Context, config Object) error
	Read     func(ctx context.Context, config Object) (Object, error)
}

// An EphemeralType is a type of ephemeral resource: something that exists while the engine
// works with it, and that plans and states don't have.
type EphemeralType struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	// Validate checks a configuration, which may have [Unknown] parts.
	Validate func(ctx context.Context, config Object) error
	Open     func(ctx context.Context, config Object) (Opened, error)
	// Renew is called when it is time, and returns when to renew next. Its Result isn't used.
	Renew func(ctx context.Context, private []byte) (Opened, error)
	Close func(ctx context.Context, private []byte) error
}

// Opened is an open ephemeral resource.
type Opened struct {
	Result Object
	// Private is given to Renew and Close.
	Private []byte
	// RenewAt is zero where nothing has to be renewed.
	RenewAt time.Time
}

// An ActionType is a type of action.
type ActionType struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	// Validate checks a configuration, which may have [Unknown] parts. Plan says whether it may be
	// invoked later, and Invoke does it.
	Validate func(ctx context.Context, config Object) error
	Plan     func(ctx context.Context, config Object) error
	Invoke   func(ctx context.Context, config Object, progress func(message string)) error
}

// A ListType finds the objects of a resource type that exist.
type ListType struct {
	Attributes map[string]Attribute
	Blocks     map[string]Block
	// Validate checks a configuration, which may have [Unknown] parts.
	Validate func(ctx context.Context, config Object) error
	// List reports objects until found returns false.
	List func(ctx context.Context, config Object, found func(Found) bool) error
}

// Found is an object that a list has found: its name for people, its attributes, and those of
// its identity among them.
type Found struct {
	Name   string
	Object Object
}

// A Function is a function of the provider. Without Variadic it has exactly its Parameters.
type Function struct {
	Parameters []Parameter
	Variadic   *Parameter
	// Returns is the result's type, as in a variable block.
	Returns     string
	Call        func(ctx context.Context, args []any) (any, error)
	Summary     string
	Description string
}

// A Parameter is a parameter of a function. Functions aren't called with what isn't known.
type Parameter struct {
	Name        string
	Type        string
	AllowNull   bool
	Description string
}

// An ArgumentError is what a function returns for an error of one argument; the first is 0.
type ArgumentError struct {
	Argument int
	Err      error
}

func (e *ArgumentError) Error() string { return e.Err.Error() }

// Unwrap is the error.
func (e *ArgumentError) Unwrap() error { return e.Err }
