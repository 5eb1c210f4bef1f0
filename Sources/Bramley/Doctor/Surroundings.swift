internal import Sockets

/// Where doctor runs: in a container network, addresses are assigned anew, and this machine is not the proxy's.
enum Surroundings: Hashable, Sendable {
    case machine, container, kubernetes

    init(_ environment: [String: String]) {
        if environment["KUBERNETES_SERVICE_HOST"] != nil {
            self = .kubernetes
        } else {
            let isContainer = ["/.dockerenv", "/run/.containerenv"].contains(where: GuardedFile.exists)
            self = isContainer ? .container : .machine
        }
    }

    /// Where the server's admin listener can be asked; the end of a sentence.
    var beside: String {
        switch self {
        case .machine: "on the machine it runs on"
        case .container: "in its container (docker compose exec bramley bramley doctor)"
        case .kubernetes: "in its pod (kubectl exec deploy/bramley -- bramley doctor)"
        }
    }

    /// What to add to `server.trustedProxies` for a proxy that was seen at this address.
    func trust(_ address: String) -> String {
        let isAssigned = IPAddress(address).map { !$0.isPublic && !$0.isLoopback } ?? false
        switch self {
        case .container where isAssigned:
            return "Add the network of the proxy's containers, as docker network inspect shows it, to "
                + "server.trustedProxies, and restart bramley serve. \(address) may change when a container starts."
        case .kubernetes where isAssigned:
            return
                "Add the network of the cluster's pods, such as \"10.0.0.0/8\", to server.trustedProxies, and restart "
                + "bramley serve. \(address) changes with each pod; let a NetworkPolicy admit only the ingress."
        case .machine, .container, .kubernetes:
            return "Add \"\(address)\" to server.trustedProxies and restart bramley serve."
        }
    }

    /// Where the proxy reaches this listener.
    func target(_ listener: SocketAddress) -> String {
        switch self {
        case .machine: "\(Doctor.ownAddress(of: listener)):\(listener.port)"
        case .container: "port \(listener.port) of this container, by its service's name"
        case .kubernetes: "the Service whose targetPort is \(listener.port)"
        }
    }

    /// How to make the network in front of the proxy pass on visitors' addresses.
    var source: String {
        switch self {
        case .machine: ""
        case .container:
            " Docker hides visitors from a published port when it is rootless or by its userland proxy: "
                + "let the proxy use the host's network."
        case .kubernetes: " The Service of the ingress controller needs externalTrafficPolicy: Local."
        }
    }
}
