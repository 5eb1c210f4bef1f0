"""JupyterHub without its proxy: people reach the hub itself. The page's own settings come after this."""

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {}

    async def check_routes(self, *arguments, **options):
        pass


c = get_config()  # noqa: F821
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.cleanup_servers = False
c.JupyterHub.db_url = "sqlite:///:memory:"
