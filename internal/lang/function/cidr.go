package function

import (
	"errors"
	"math/big"
	"net"
	"strings"

	"github.com/apparentlymart/go-cidr/cidr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func addCIDR(table map[string]function.Function) {
	prefix := str("prefix")
	newbits := num("newbits")
	table["cidrhost"] = def{[]function.Parameter{prefix, num("hostnum")}, nil, cty.String, cidrHost}.function()
	table["cidrnetmask"] = def{[]function.Parameter{prefix}, nil, cty.String, cidrNetmask}.function()
	table["cidrsubnet"] = def{[]function.Parameter{prefix, newbits, num("netnum")}, nil, cty.String, cidrSubnet}.function()
	table["cidrsubnets"] = def{[]function.Parameter{prefix}, &newbits, cty.List(cty.String), cidrSubnets}.function()
	table["cidrcontains"] = def{
		[]function.Parameter{str("containing_prefix"), str("contained_ip_or_prefix")}, nil, cty.Bool, cidrContains,
	}.function()
}

// decimalOctets drops leading zeros of IPv4 octets, which old configurations have and which
// the standard library rejects as possibly octal.
func decimalOctets(s string) string {
	start := strings.LastIndexByte(s, ':') + 1
	address, length, _ := strings.Cut(s[start:], "/")
	octets := strings.Split(address, ".")
	if len(octets) != 4 {
		return s
	}
	for i, octet := range octets {
		if trimmed := strings.TrimLeft(octet, "0"); trimmed != "" {
			octets[i] = trimmed
		} else if octet != "" {
			octets[i] = "0"
		}
	}
	ret := s[:start] + strings.Join(octets, ".")
	if strings.Contains(s[start:], "/") {
		ret += "/" + length
	}
	return ret
}

// network reads argument i.
func (c *call) network(i int) (*net.IPNet, error) {
	_, network, err := net.ParseCIDR(decimalOctets(c.str(i)))
	if err != nil {
		return nil, c.fault(i, "invalid CIDR expression: %s is not an address and a prefix length such as 10.1.0.0/16", c.show(i))
	}
	return network, nil
}

func (c *call) bigInteger(i int) (*big.Int, error) {
	n, acc := c.args[i].AsBigFloat().Int(nil)
	if n == nil || acc != big.Exact {
		return nil, c.fault(i, "a whole number is required, not %s", c.show(i))
	}
	return n, nil
}

func cidrHost(c *call) (cty.Value, error) {
	network, err := c.network(0)
	if err != nil {
		return cty.NilVal, err
	}
	n, err := c.bigInteger(1)
	if err != nil {
		return cty.NilVal, err
	}
	ip, err := cidr.HostBig(network, n)
	if err != nil {
		return cty.NilVal, c.together("no such host in the network", err)
	}
	return cty.StringVal(ip.String()), nil
}

func cidrNetmask(c *call) (cty.Value, error) {
	network, err := c.network(0)
	if err != nil {
		return cty.NilVal, err
	}
	if network.IP.To4() == nil {
		return cty.NilVal, c.fault(0, "IPv6 addresses cannot have a netmask: %s", c.show(0))
	}
	return cty.StringVal(net.IP(network.Mask).String()), nil
}

func cidrSubnet(c *call) (cty.Value, error) {
	network, err := c.network(0)
	if err != nil {
		return cty.NilVal, err
	}
	newbits, err := c.integer(1)
	if err != nil {
		return cty.NilVal, err
	}
	// Configurations do shorten prefixes by a negative number of bits.
	if length, _ := network.Mask.Size(); length+newbits < 0 {
		return cty.NilVal, c.fault(1, "a prefix of %d bits can't be extended by %s", length, c.show(1))
	}
	n, err := c.bigInteger(2)
	if err != nil {
		return cty.NilVal, err
	}
	if n.Sign() < 0 {
		return cty.NilVal, c.fault(2, "a network number can't be negative")
	}
	subnet, err := cidr.SubnetBig(network, newbits, n)
	if err != nil {
		// The library names numbers of its own making.
		return cty.NilVal, c.together("no such subnet", err)
	}
	return cty.StringVal(subnet.String()), nil
}

func cidrSubnets(c *call) (cty.Value, error) {
	network, err := c.network(0)
	if err != nil {
		return cty.NilVal, err
	}
	if len(c.args) == 1 {
		return cty.ListValEmpty(cty.String), nil
	}
	length, _ := network.Mask.Size()
	bits := len(network.IP) * 8
	subnets := make([]cty.Value, 0, len(c.args)-1)
	var current *net.IPNet
	for i := 1; i < len(c.args); i++ {
		newbits, err := c.integer(i)
		switch {
		case err != nil:
			return cty.NilVal, err
		case newbits < 1:
			return cty.NilVal, c.fault(i, "must extend prefix by at least one bit")
		case length+newbits > bits:
			return cty.NilVal, c.fault(i, "would extend prefix to %d bits, which is too long for an address of %d bits", length+newbits, bits)
		}
		if current == nil {
			current, _ = cidr.PreviousSubnet(network, length+newbits)
		}
		next, rollover := cidr.NextSubnet(current, length+newbits)
		if rollover || !network.Contains(next.IP) {
			return cty.NilVal, c.because(i, "not enough remaining address space", errors.New("the last subnet is "+current.String()))
		}
		current = next
		subnets = append(subnets, cty.StringVal(current.String()))
	}
	return cty.ListVal(subnets), nil
}

func cidrContains(c *call) (cty.Value, error) {
	outer, err := c.network(0)
	if err != nil {
		return cty.NilVal, err
	}
	first := net.ParseIP(decimalOctets(c.str(1)))
	last := first
	if first == nil {
		_, inner, err := net.ParseCIDR(decimalOctets(c.str(1)))
		if err != nil {
			return cty.NilVal, c.fault(1, "invalid IP address or prefix: %s", c.show(1))
		}
		first, last = cidr.AddressRange(inner)
	}
	if (first.To4() == nil) != (outer.IP.To4() == nil) {
		return cty.NilVal, c.fault(1, "address family mismatch: %s and %s", c.show(0), c.show(1))
	}
	return cty.BoolVal(outer.Contains(first) && outer.Contains(last)), nil
}
