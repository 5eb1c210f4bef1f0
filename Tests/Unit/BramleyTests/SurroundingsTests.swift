import Sockets
import Testing

@testable import Bramley

/// What `doctor` advises on a machine of one's own, beside Docker and in Kubernetes.
struct SurroundingsTests {
    @Test(
        "A network is trusted where addresses are assigned anew",
        arguments: [
            (.machine, "172.18.0.5", "Add \"172.18.0.5\""), (.container, "172.18.0.5", "docker network inspect"),
            (.kubernetes, "10.244.1.7", "\"10.0.0.0/8\""), (.kubernetes, "fd00::7", "the cluster's pods"),
            (.kubernetes, "127.0.0.1", "Add \"127.0.0.1\""), (.container, "93.184.216.34", "Add \"93.184.216.34\""),
        ] as [(Surroundings, String, String)])
    func trusts(surroundings: Surroundings, address: String, words: String) {
        #expect(surroundings.trust(address).contains(words))
    }

    @Test func kubernetesShowsInItsVariables() {
        #expect(Surroundings(["KUBERNETES_SERVICE_HOST": "10.96.0.1"]) == .kubernetes)
        #expect(Surroundings([:]) != .kubernetes)
    }

    /// `0.0.0.0` is where a container listens, and nowhere to send a request.
    @Test(
        arguments: [
            (.machine, "127.0.0.1:8080"), (.container, "port 8080 of this container"),
            (.kubernetes, "targetPort is 8080"),
        ] as [(Surroundings, String)])
    func namesNoWildcard(surroundings: Surroundings, words: String) {
        #expect(surroundings.target(SocketAddress(ip: .v4(0), port: 8080)).contains(words))
    }
}
