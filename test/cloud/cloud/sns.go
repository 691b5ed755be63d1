package cloud

import (
	"fmt"
	"maps"
)

// SNS keeps topics and their subscriptions, by ARN.
type sns struct {
	topics        map[string]*topic
	subscriptions map[string]map[string]string
}

type topic struct{ attributes, tags map[string]string }

func newSNS() *sns {
	return &sns{topics: map[string]*topic{}, subscriptions: map[string]map[string]string{}}
}

func (s *sns) service() service {
	on := func(do func(r *request, t *topic) any) call {
		return func(r *request) (any, error) {
			name := r.text("TopicArn") + r.text("ResourceArn")
			t := s.topics[name]
			if t == nil {
				return nil, missing("NotFound", name)
			}
			return do(r, t), nil
		}
	}
	return service{dialect: queryXML, calls: map[string]call{
		"CreateTopic": s.create,
		"ListTopics": func(r *request) (any, error) {
			return list("Topics", "member", sorted(s.topics), func(n string) node { return texts("TopicArn", n) }), nil
		},
		"GetTopicAttributes": on(func(r *request, t *topic) any { return entries(t.attributes) }),
		"SetTopicAttributes": on(func(r *request, t *topic) any {
			t.attributes[r.text("AttributeName")] = r.text("AttributeValue")
			return nil
		}),
		"ListTagsForResource": on(func(r *request, t *topic) any { return tagMembers(t.tags) }),
		"TagResource": on(func(r *request, t *topic) any {
			maps.Copy(t.tags, r.tags())
			return nil
		}),
		"UntagResource": on(func(r *request, t *topic) any {
			untagKeys(t.tags, r)
			return nil
		}),
		"DeleteTopic": func(r *request) (any, error) {
			delete(s.topics, r.text("TopicArn"))
			return nil, nil
		},
		"Subscribe":                 s.subscribe,
		"Unsubscribe":               s.unsubscribe,
		"GetSubscriptionAttributes": s.getSubscription,
		"SetSubscriptionAttributes": s.setSubscription,
		"ListSubscriptionsByTopic":  s.listSubscriptions,
	}}
}

func entries(attributes map[string]string) node {
	return list("Attributes", "entry", sorted(attributes), func(k string) node { return texts("key", k, "value", attributes[k]) })
}

// given are the attributes in a query.
func given(r *request) map[string]string {
	out := map[string]string{}
	for _, m := range r.members("Attributes.entry") {
		out[m["key"]] = m["value"]
	}
	return out
}

func (s *sns) create(r *request) (any, error) {
	name := arn("sns", r.region, r.text("Name"))
	if s.topics[name] == nil {
		t := &topic{attributes: map[string]string{
			"TopicArn": name, "Owner": Account, "DisplayName": "",
			"SubscriptionsConfirmed": "0", "SubscriptionsPending": "0", "SubscriptionsDeleted": "0",
			"Policy": fmt.Sprintf(`{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow","Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":"%s","Condition":{"StringEquals":{"AWS:SourceOwner":"%s"}}}]}`, name, Account),
		}, tags: r.tags()}
		maps.Copy(t.attributes, given(r))
		s.topics[name] = t
	}
	return texts("TopicArn", name), nil
}

func (s *sns) subscribe(r *request) (any, error) {
	to := r.text("TopicArn")
	if s.topics[to] == nil {
		return nil, missing("NotFound", to)
	}
	name := to + ":" + uuid(to, r.text("Protocol"), r.text("Endpoint"))
	sub := map[string]string{
		"SubscriptionArn": name, "TopicArn": to, "Protocol": r.text("Protocol"), "Endpoint": r.text("Endpoint"), "Owner": Account,
		"RawMessageDelivery": "false", "PendingConfirmation": "false", "ConfirmationWasAuthenticated": "true",
	}
	maps.Copy(sub, given(r))
	s.subscriptions[name] = sub
	return texts("SubscriptionArn", name), nil
}

func (s *sns) unsubscribe(r *request) (any, error) {
	delete(s.subscriptions, r.text("SubscriptionArn"))
	return nil, nil
}

func (s *sns) subscription(r *request) (map[string]string, error) {
	if sub := s.subscriptions[r.text("SubscriptionArn")]; sub != nil {
		return sub, nil
	}
	return nil, missing("NotFound", r.text("SubscriptionArn"))
}

func (s *sns) getSubscription(r *request) (any, error) {
	sub, err := s.subscription(r)
	if err != nil {
		return nil, err
	}
	return entries(sub), nil
}

func (s *sns) setSubscription(r *request) (any, error) {
	sub, err := s.subscription(r)
	if err != nil {
		return nil, err
	}
	if v := r.text("AttributeValue"); v != "" {
		sub[r.text("AttributeName")] = v
	} else {
		delete(sub, r.text("AttributeName"))
	}
	return nil, nil
}

func (s *sns) listSubscriptions(r *request) (any, error) {
	var of []string
	for _, name := range sorted(s.subscriptions) {
		if s.subscriptions[name]["TopicArn"] == r.text("TopicArn") {
			of = append(of, name)
		}
	}
	return list("Subscriptions", "member", of, func(n string) node {
		sub := s.subscriptions[n]
		return texts("SubscriptionArn", n, "TopicArn", sub["TopicArn"], "Protocol", sub["Protocol"], "Endpoint", sub["Endpoint"], "Owner", Account)
	}), nil
}
