"""JupyterHub without its proxy: people reach the hub itself. The page's own settings come after this."""

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def get_all_routes(self, *arguments, **options):
        return {}

    add_route = delete_route = check_routes = get_all_routes


c = get_config()  # noqa: F821
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.cleanup_servers = False
c.JupyterHub.db_url = "sqlite:///:memory:"
