# Sourced by scripts/example.sh: nginx on $port, Bramley behind it on $inner_port.
needs=(nginx-light)

start_example() {
    open_this=http://localhost:$port/
    # nginx is a trusted proxy: Bramley accepts its description of each request.
    start_bramley "http://localhost:$port" "$inner_port" --site-name "The Orchard" --trusted-proxies 127.0.0.1
    start_nginx "$example/nginx.conf" PORT="$port" BRAMLEY="$inner_port" SITE="$PWD/$example/site"
    wait_for nginx "$!" "$port" / "$data/nginx/error.log"
}
