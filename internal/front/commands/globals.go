package commands

import (
	"errors"
	"fmt"
	"strings"

	"weir.dev/weir/internal/word/dialect"
)

// Globals handles what stands before the command and returns the rest.
func Globals(args []string, chdir func(string) error, speak func(dialect.Dialect)) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, val, hasVal := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-"), "=")
		switch name {
		case "chdir":
			if !hasVal || val == "" {
				return nil, errors.New("Invalid -chdir option: must include an equals sign followed by a directory path, like -chdir=example")
			}
			if err := chdir(val); err != nil {
				return nil, fmt.Errorf("Error handling -chdir option: %s", err)
			}
			args = args[1:]
			continue
		case "compat":
			d, err := dialect.Parse(val)
			if err != nil {
				return nil, fmt.Errorf("-compat is %q; %s", val, err)
			}
			speak(d)
			args = args[1:]
			continue
		case "version", "v":
			return append([]string{"version"}, args[1:]...), nil
		}
		break
	}
	return args, nil
}

// Dialect is the dialect that a setting names, or else the program's own name.
func Dialect(setting, program string) (dialect.Dialect, error) {
	if setting == "" && program == dialect.Terraform.Command() {
		return dialect.Terraform, nil
	}
	if setting == "" {
		return dialect.OpenTofu, nil
	}
	d, err := dialect.Parse(setting)
	if err != nil {
		err = fmt.Errorf("WEIR_COMPAT is %q; %w", setting, err)
	}
	return d, err
}
