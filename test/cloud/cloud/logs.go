package cloud

import (
	"maps"
	"strings"
)

// CloudWatch Logs keeps groups, by ARN.
type logs struct{ groups map[string]*group }

type group struct {
	description object
	tags        map[string]string
}

func newLogs() *logs { return &logs{groups: map[string]*group{}} }

func (s *logs) service() service {
	on := func(do func(r *request, g *group)) call {
		return func(r *request) (any, error) {
			name := r.text("resourceArn")
			if name == "" {
				name = arn("logs", r.region, "log-group:"+r.text("logGroupName"))
			}
			g := s.groups[strings.TrimSuffix(name, ":*")]
			if g == nil {
				return nil, refused("ResourceNotFoundException", "%s isn't there", name)
			}
			do(r, g)
			return object{"tags": g.tags}, nil
		}
	}
	return service{dialect: jsonText, calls: map[string]call{
		"CreateLogGroup": func(r *request) (any, error) {
			name := arn("logs", r.region, "log-group:"+r.text("logGroupName"))
			if s.groups[name] != nil {
				return nil, refused("ResourceAlreadyExistsException", "%s exists already", name)
			}
			class := r.text("logGroupClass")
			if class == "" {
				class = "STANDARD"
			}
			g := &group{tags: r.input.strings("tags"), description: object{
				"logGroupName": r.text("logGroupName"), "arn": name + ":*", "logGroupArn": name, "logGroupClass": class,
				"creationTime": now.UnixMilli(), "storedBytes": 0, "metricFilterCount": 0,
			}}
			if k := r.text("kmsKeyId"); k != "" {
				g.description["kmsKeyId"] = k
			}
			s.groups[name] = g
			return nil, nil
		},
		"DescribeLogGroups": func(r *request) (any, error) {
			found := []object{}
			for _, name := range sorted(s.groups) {
				if strings.HasPrefix(name, arn("logs", r.region, "log-group:"+r.text("logGroupNamePrefix"))) {
					found = append(found, s.groups[name].description)
				}
			}
			return object{"logGroups": found}, nil
		},
		"DeleteLogGroup":        on(func(r *request, g *group) { delete(s.groups, g.description.text("logGroupArn")) }),
		"PutRetentionPolicy":    on(func(r *request, g *group) { g.description["retentionInDays"] = r.input["retentionInDays"] }),
		"DeleteRetentionPolicy": on(func(r *request, g *group) { delete(g.description, "retentionInDays") }),
		"AssociateKmsKey":       on(func(r *request, g *group) { g.description["kmsKeyId"] = r.text("kmsKeyId") }),
		"DisassociateKmsKey":    on(func(r *request, g *group) { delete(g.description, "kmsKeyId") }),
		"ListTagsForResource":   on(func(r *request, g *group) {}),
		"TagResource":           on(func(r *request, g *group) { maps.Copy(g.tags, r.input.strings("tags")) }),
		"UntagResource":         on(func(r *request, g *group) { untag(g.tags, r.input.list("tagKeys")) }),
	}}
}
