import Sockets
import Testing

@Suite struct IPAddressTests {
    /// Text as it may come, and as RFC 5952 writes it.
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
        ("::1", "::1"), ("1::", "1::"), ("2001:DB8::1", "2001:db8::1"), ("2001:0db8:0:0:0:0:0:0001", "2001:db8::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::FFFF:c000:201", "192.0.2.1"), ("::192.0.2.1", "::c000:201"), ("fe80::", "fe80::"),
        ("a:b:c:d:e:f:1:2", "a:b:c:d:e:f:1:2"), ("0:0:0:0:0:0:0:0", "::"),
    ])
    func text_becomesCanonical(_ text: String, _ canonical: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == canonical)
        #expect(IPAddress(canonical) == address)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", ".1.2.3", "1..2.3", "01.2.3.4", "1.2.3.04", "0x1.2.3.4",
        "1.2.3.4 ", " 1.2.3.4", "1.2.3.-4", "+1.2.3.4", "1.2.3.4/8", "1.2.3.4:80", ":", ":::", "::1::", "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2::3", "12345::", "g::", ":1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:", "::1.2.3", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "::256.0.0.1", "fe80::1%eth0", "[::1]",
        "::ffff:01.2.3.4", "1:2:3:4:5:6:7:8\u{0}", "٣.2.3.4", "::00000", "1234.2.3.4",
    ])
    func otherText_isNotAnAddress(_ text: String) {
        #expect(IPAddress(text) == nil, "\(text)")
    }

    @Test func mappedAddresses_areNormalised() {
        #expect(IPAddress.v6(0, 0xffff_7f00_0001).normalized == .v4(0x7f00_0001))
        #expect(IPAddress.v6(0, 0xffff_7f00_0001).description == "::ffff:127.0.0.1")
        #expect(IPAddress.v6(1, 0xffff_7f00_0001).normalized == .v6(1, 0xffff_7f00_0001))
        #expect(IPAddress.v6(0, 0xffff_7f00_0001).isLoopback)
        #expect(IPAddress.v6(0, 1).isLoopback)
        #expect(!IPAddress.v6(0, 2).isLoopback)
        #expect(IPAddress.v4(0x7fff_ffff).isLoopback)
        #expect(!IPAddress.v4(0x8000_0001).isLoopback)
    }
}

/// Which addresses are of the internet: each block at its ends, and what lies beside it.
@Suite struct PublicAddressTests {
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255",
        "192.0.0.0", "192.0.0.255", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0",
        "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.0", "239.255.255.255", "240.0.0.0",
        "255.255.255.255",
        // Of this host, mapped, compatible, and through a translator.
        "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1", "::8.8.8.8",
        "64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8", "64:ff9b:0:1::1",
        // Private, link, site, multicast, given to nobody.
        "fc00::1", "fd00:ec2::254", "fdff:ffff::", "fe80::1", "febf::1", "fec0::1", "ff02::1", "100::1", "1fff::1",
        "4000::1", "5f00::1", "2001::1", "2001:0:4136:e378::", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::1",
        "2002:808:808::1", "3fff::1", "3fff:fff::1",
    ])
    func nonPublicAddresses(_ text: String) throws {
        #expect(try !#require(IPAddress(text)).isPublic)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "3ffe::1",
        "3fff:1000::1",
    ])
    func publicAddresses(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }

    /// As a resolver gives it: not made from text.
    @Test func mappedBytesAreTheAddressInThem() {
        #expect(!IPAddress.v6(0, 0xffff_7f00_0001).isPublic)
        #expect(IPAddress.v6(0, 0xffff_0808_0808).isPublic)
    }
}

@Suite struct IPNetworkTests {
    @Test(arguments: [
        ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"), ("0.0.0.0/0", "255.1.2.3", "::1"),
        ("10.1.2.3", "10.1.2.3", "10.1.2.4"), ("10.1.2.3/32", "10.1.2.3", "10.1.2.2"),
        ("10.1.2.2/31", "10.1.2.3", "10.1.2.4"), ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
        ("::/0", "ffff::", "1.2.3.4"), ("::1", "::1", "::2"), ("2001:db8::/64", "2001:db8::ffff", "2001:db8:0:1::"),
        ("2001:db8::/65", "2001:db8::7fff:0:0:0", "2001:db8::8000:0:0:0"), ("::2/127", "::3", "::4"),
        ("::ffff:10.0.0.0/104", "10.255.0.1", "11.0.0.0"), ("128.0.0.0/1", "255.0.0.0", "127.0.0.0"),
    ])
    func blocks_holdTheirAddressesOnly(_ text: String, _ inside: String, _ outside: String) throws {
        let network = try #require(IPNetwork(text))
        #expect(network.contains(try #require(IPAddress(inside))))
        #expect(!network.contains(try #require(IPAddress(outside))))
    }

    @Test func mappedPeers_areInIPv4Blocks() throws {
        #expect(try #require(IPNetwork("127.0.0.0/8")).contains(.v6(0, 0xffff_7f00_0001)))
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8", "::/129",
        "10.0.0.1/8", "2001:db8::1/64", "10.0.0.0/ 8", "10.0.0.0/1234", "::ffff:10.0.0.0/8", "h/8", "10.0.0.0/a",
    ])
    func otherText_isNotABlock(_ text: String) {
        #expect(IPNetwork(text) == nil, "\(text)")
    }
}
